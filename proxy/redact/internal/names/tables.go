package names

import "github.com/meerkat-go/conformance/proxy/redact/internal/lex"

// All words of these tables are in lower case and without separators.

// wholeNames are names that the words in them do not explain.
var wholeNames = func() map[string]Class {
	out := map[string]Class{}
	for class, list := range map[Class][]string{
		Strong: lex.Words(
			// headers, and members called after them
			"authorization authenticationinfo cookie cookies setcookie sessioncookie honeycombteam xhoneycombteam xjfrogartapi",
			// sessions of servers
			"jsessionid phpsessid",
			// OAuth and SAML
			"assertion clientassertion codeverifier devicecode oauthverifier samlresponse samlassertion",
			// clouds and their managers of secrets
			"privatekeydata privatekeyid clientkeydata clientsecretvalue secretid secretvalue secretstring secretdata genkey",
			"sharedaccesssignature appsecretproof githubpat",
			// passwords
			"passcode passe sshpass dbpass userpass smtppass mailpass rootpass requirepass masterauth bindpw",
			// what restores an account
			"recoverycode recoverycodes backupcode backupcodes scratchcodes mnemonic mnemonicphrase seedphrase recoveryphrase",
		),
		Weak: lex.Words(
			"accesskeyid awsaccesskeyid gsaccesskeyid keyvalue pat sas salt hmac signingsecrets tokenaccessor access refresh csrf xsrf",
		),
		Plain: lex.Words(
			"code sig signature thoughtsignature wwwauthenticate proxyauthenticate publickeytoken",
			"bellpepper hotpepper chilipepper redpepper greenpepper blackpepper",
		),
	} {
		for _, name := range list {
			out[name] = class
		}
	}
	return out
}()

// publicLast are the last words of names whose values everybody in the exchange may know.
var publicLast = lex.Set(
	"id ids uuid name type kind role status event method object version",
	"model models deployment tokenizer region language",
)

// aboutCredential are the last words of names that say something about a credential
// and do not hold it: token_type, key_count, secret_url.
var aboutCredential = lex.Set(
	// how many there are, and of what size
	"count limit usage budget remaining length size index",
	// how long it lives
	"expires expiry expiration ttl lifetime at created updated reset rotation",
	// where it is, and who has it
	"url uri endpoint arn ref file path dir source in bucket store param field user email author issuer realm",
	// what it is like
	"mode scheme scope scopes policy format style hint prefix algorithm alg rule rules strategy flow schema class sign",
	// whether it is there
	"required enabled valid supported",
	// what people read about it
	"description details label title placeholder example code",
	// the part of a program that handles it
	"provider command helper manager stdin validator generator service handler",
)

// strongEndings end the names of credentials.
var strongEndings = lex.Words(
	"token secret jwt bearer credential authorization authident securestring secretkeybase tokenheader authheader",
	"password passwd passphrase pwd pswd passwort psk passwordconfirm passwordconfirmation passwordrepeat storepass keypass smtppass",
	"apikey accesskey secretkey privatekey authkey accountkey masterkey signingkey encryptionkey subscriptionkey",
	"licensekey servicekey sharedkey storagekey appkey",
	"pepper authtok macaroon",
	"kennwort motdepasse senha contrasena haslo heslo wachtwoord adgangskode salasana lozinka chiavesegreta clavesecreta chavesecreta",
)

// namedLast are ends of the last words of credentials behind whose names another word may stand.
var namedLast = lex.Words("token secret password passwd passphrase pwd jwt bearer credential authorization key pass pw psk cookie")

// strongByLast and namedByLast are strongEndings and namedLast by their last letters.
var strongByLast, namedByLast = byLastLetter(strongEndings), byLastLetter(namedLast)

// byLastLetter sorts words by their last letters.
func byLastLetter(ends []string) (out [256][]string) {
	for _, end := range ends {
		last := end[len(end)-1]
		out[last] = append(out[last], end)
	}
	return out
}

// weakLast are last words under which a credential or something else may stand.
var weakLast = lex.Set(
	"auth authentication hmac session sid cookie pat bearertoken bypass value",
	"cred creds credentials secrets tokens passwords",
)

// positionTokens are the words before "token" that make it the mark of a position.
var positionTokens = lex.Words(
	// in a list of pages
	"page pagination paging continuation cursor next previous prev first last marker start end skip sync delta change resume",
	// in a text, and tokens that a model counts
	"eos bos pad unk mask sep cls stop special min max per total input output prompt completion cached reasoning image audio",
	// in a conversation, and in the work of a server
	"conversation thread chat turn message request response trace correlation progress",
)

// secretKeys and harmlessKeys are the words before "key" that settle what it is.
var (
	secretKeys = lex.Set(
		// who it is of
		"account admin user team personal app application client consumer bot server host service subscription license integration",
		// what it opens, and what may be done with it
		"api api2 access secret private jwt auth shared preshared master storage read write deploy anon",
		// what it is for
		"signing signature hmac encryption decryption validation sas webhook function functions instrumentation ingest routing rapidapi",
		"seal unseal recovery local isakmp tacacs radius",
	)
	harmlessKeys = lex.Set(
		// of a database
		"partition sort foreign row range group join by attribute",
		// of a cache
		"cache idempotency dedupe deduplication dedup surrogate hash map lookup object",
		// of texts and programs
		"translation label message prompt metric feature issue resource shortcut hot",
		// what everybody may know
		"public gpg pgp verifier verification websocket socket",
	)
)

// qualifiers are last words that say which of several credentials a name is of: PASSWORD_OLD.
var qualifiers = lex.Set(
	"old new current backup primary secondary default v",
	"prod production staging dev live test sandbox",
)

// holders are last words that say how a credential is written: tokenValue, private_key_pem.
var holders = lex.Set("value string header pem plain plaintext raw base encoded encrypted hash")
