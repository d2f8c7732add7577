package freetext

import (
	"strings"
	"testing"

	_ "github.com/meerkat-go/conformance/wires/all"
)

// escapings are ways in which a text stands in a message.
var escapings = map[string]func(string) string{
	"plain":   func(s string) string { return s },
	"in JSON": escapeOnce,
	"in JSON in JSON": func(s string) string {
		return escapeOnce(escapeOnce(s))
	},
}

func escapeOnce(s string) string {
	return `{"output":"` + strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`, "\t", `\t`).Replace(s) + `"}`
}

// valuesIn returns what a search finds, with spaces between.
func valuesIn(text string) string {
	var found []string
	secrets, _ := Search([]byte(text))
	for _, s := range secrets {
		found = append(found, string(s.Value.In([]byte(text))))
	}
	return strings.Join(found, " ")
}

// A password of words is one where a value is all that can stand.
func TestChosenPasswords(t *testing.T) {
	for text, want := range map[string]string{
		"smtp:\n  user: kim\nsidekiq_web_password: Mondschein77\nlockbox:\n":                                                     "Mondschein77",
		"username: uploader\npassword: Ente-Ente-Gans\n":                                                                         "Ente-Ente-Gans",
		"  key-store: classpath:int.p12\n  key-store-password: tomcat-in-Aktion\n":                                               "tomcat-in-Aktion",
		"keytool -list -storepass 'tomcat-in-Aktion'":                                                                            "tomcat-in-Aktion",
		"ssl.truststore.location=/etc/pki/t.jks\nssl.truststore.password=immergruen\n":                                           "immergruen",
		"signing.keyId=24875D73\nsigning.password=Der Mond ist aufgegangen\nsigning.f=/home/dev/x\n":                             "Der Mond ist aufgegangen",
		"define( 'FTP_PASS', 'Pfeffer-minze' );":                                                                                 "Pfeffer-minze",
		"DB_USER=shop\nDB_PASSWORD=\"Schnee flocke 7\"\n":                                                                        "Schnee flocke 7",
		"db01 ansible_user=root ansible_password=Gartenzaun.9 ansible_become_pass=Gartentor.10\n":                                "Gartenzaun.9 Gartentor.10",
		"vault_restic_repo_password: >-\n  eins zwei drei polizei\n":                                                             "eins zwei drei polizei",
		"users:\n  - {name: ops, password: Sprungbrett5, tags: administrator}\n":                                                 "Sprungbrett5",
		"MATCH_PASSWORD=\"zebra kiosk tundra\"\n":                                                                                "zebra kiosk tundra",
		"      user: DBT\n      password: Lawine_im_Mai\n      role: X\n":                                                        "Lawine_im_Mai",
		"      private_key_path: /k.p8\n      private_key_passphrase: Gletscherspalte\n":                                         "Gletscherspalte",
		"kcadm.sh config credentials --user admin --password Schluesselblume":                                                    "Schluesselblume",
		"uid: kim\nuserPassword: Butterblume1\n":                                                                                 "Butterblume1",
		"username=mount\npassword=Lastkahn 88\ndomain=CORP":                                                                      "Lastkahn 88",
		"binddn cn=admin\nbindpw Eulenruf-12\n":                                                                                  "Eulenruf-12",
		"username netops privilege 15 password 0 Kabelsalat.2\n":                                                                 "Kabelsalat.2",
		" neighbor 198.51.100.1 password Grenzgaenger\n":                                                                         "Grenzgaenger",
		"machine h login u password Nordlicht.7\n":                                                                               "Nordlicht.7",
		"wpa=2\nwpa_passphrase=rote gruetze mit sahne\nwpa_key_mgmt=WPA-PSK\n":                                                   "rote gruetze mit sahne",
		"mqtt_user: ha\nmqtt_password: moewe.schreit\n":                                                                          "moewe.schreit",
		"Title: Router\nPassword: fritz.box!Kessel\nURL: http://x\n":                                                             "fritz.box!Kessel",
		`"Env": ["COSIGN_PASSWORD=Siegellack_rot", "A=b"]`:                                                                       "Siegellack_rot",
		"sendemail.smtpuser=kim\nsendemail.smtppass=Briefmarke.80\n":                                                             "Briefmarke.80",
		`{"user":"kim","password":"Kuckucksuhr 5"} 401`:                                                                          "Kuckucksuhr 5",
		"//SYSIN JOB USER=OPS,PASSWORD=KWWUZZFA\n":                                                                               "KWWUZZFA",
		"#define MQTT_PASSWORD \"Eisbrecher_22\"\n":                                                                              "Eisbrecher_22",
		`{"key":"password","value":"Postbote-zweimal","type":"string"}`:                                                          "Postbote-zweimal",
		"ALTER ROLE loader WITH PASSWORD 'Murmeltier+Bau';":                                                                      "Murmeltier+Bau",
		"CREATE LOGIN x WITH PASSWORD = N'Dachs!Hoehle88';":                                                                      "Dachs!Hoehle88",
		": PSK \"Tunnel-unter-der-Elbe\"\n":                                                                                      "Tunnel-unter-der-Elbe",
		"kim : EAP \"Carolina Reaper\"\n":                                                                                        "Carolina Reaper",
		"<password>Gletscherspalte</password>":                                                                                   "Gletscherspalte",
		"Server=db;Uid=rep;Pwd=Gartentor;Encrypt=yes":                                                                            "Gartentor",
		"host=db user=kim password=Nordwind dbname=shop":                                                                         "Nordwind",
		`db_password: "zebra kiosk tundra"`:                                                                                      "zebra kiosk tundra",
		`auth: { user: "kim", pass: "BlauerElefant" }`:                                                                           "BlauerElefant",
		"postgres://kim:gletscher@db/shop":                                                                                       "gletscher",
		"smtp_host: mail\nsmtp_password: Schlüsselbund\n":                                                                        "Schlüsselbund",
		"<password>Schnee flocke 7</password>":                                                                                   "Schnee flocke 7",
		"build\tTest\t2025-11-24T09:12:31.88Z   PGPASSWORD: girasolverano\nbuild\tTest\t2025-11-24T09:12:31.89Z   PGUSER: kim\n": "girasolverano",
		"echo 'kim:BienvenueKim' | chpasswd":                                                                                     "BienvenueKim",
		"htpasswd -bB /etc/htpasswd kim fleurs-du-matin":                                                                         "fleurs-du-matin",
		"password = 'immergruen'\n":                                                                                              "immergruen",
	} {
		for name, escape := range escapings {
			if got := valuesIn(escape(text)); got != want {
				t.Errorf("%s, %s: %q, want %q", text, name, got, want)
			}
		}
	}
}

// What a program evaluates, what says something about a password and labels of forms stay.
func TestNoChosenPasswords(t *testing.T) {
	for _, text := range []string{
		"    username: newUser,\n    password: newPassword,\n",
		"  user = cfg.User\n  password = cfg.Password\n",
		"class Login:\n    username: str\n    password: SecretStr\n",
		"    user = args.user\n    password = args.credentials\n    return connect(user, password)\n",
		"const user = form.user\nconst password = form.value\n",
		"type: object\nproperties:\n  password: required\n",
		"email: required\npassword: mandatory\n",
		"  email: E-Mail\n  password: Passwort\n",
		"login.title=Bitte melden Sie sich an\nlogin.password=Das Passwort eingeben\n",
		"form.password=Bitte erneut eingeben\nform.user=Wie heissen Sie denn\n",
		`{"email":"E-Mail","password":"Passwort","forgotPassword":"Vergessen Sie nichts"}`,
		"The password: choose something nobody knows\n",
		"Password: required field, see the manual\n",
		"DB_PASSWORD=changeme\n",
		"      --password string   the password of the user\n",
		"      --password plaintext  the password of the user\n",
		"mysql --password=PASSWORD\n",
		"password: ${DB_PASSWORD}\n",
		"if password == expected {\n",
		"func login(user, password string) error {\n",
		"connect(user=username, password=credentials)\n",
		"this.password = normalize\n  return this;\n",
		"postgres://postgres:postgres@localhost/x amqp://developer:developer@mq https://user:password@h",
		`{"password": "Contraseña", "new_password": "Nueva contraseña"}`,
		`{"pass": "complete", "fail": "rejected"}`,
		`<string name="password">Geheimwort</string>`,
		`{"password": "Slaptažodis"}`,
		"connect(host=h, user=u, password=argument)",
		`<input type="password" name="password" placeholder="Ihr Kennwort">`,
	} {
		for name, escape := range escapings {
			if got := valuesIn(escape(text)); got != "" {
				t.Errorf("%s, %s: %q", text, name, got)
			}
		}
	}
}
