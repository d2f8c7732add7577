package freetext

import (
	"bytes"
	"iter"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// programFlag is how a program reads a flag before a password.
type programFlag struct {
	then      string // a later word of the command, "" for any: docker login
	separator byte   // before the password in the value, 0 for none: user:PASSWORD
	isJoined  bool   // the password is in the same word, and in no other: mysql -pPASSWORD
}

// programFlags are the flags before a password by their names, and by the programs that have them. A
// line has programs, separated by commas, and their flags. After a flag stands what separates the user
// from the password (-u:), or "…" where nothing stands between the flag and the password.
var programFlags = func() map[string]map[string][]programFlag {
	out := map[string]map[string][]programFlag{}
	for _, line := range []string{
		// databases
		"mysql,mysqldump,mysqladmin,mysqlimport,mysqlsh,mysqlshow,mysqlcheck,mysqlpump,mysqlbinlog,mysqlslap,mariadb,mariadb-dump,mariadb-admin,xtrabackup,mydumper,myloader | -p…",
		"mydumper,myloader,mongo,mongosh,mongodump,mongorestore,mongoexport,mongoimport,mongostat,cypher-shell,cqlsh,beeline,exaplus,hdbsql,influx,pgloader | -p",
		"sqlcmd,bcp,isql,osql,tsql | -P",
		"hdbsql,clickhouse-client,vsql | -w",
		"redis-cli,valkey-cli,keydb-cli | -a --pass",
		"etcdctl | --user:",
		"nodetool | -pw",
		"cqlsh | -p",
		// directories
		"ldapsearch,ldapadd,ldapmodify,ldapdelete,ldapmodrdn,ldapcompare,ldapwhoami,ldapexop,ldapvi,dsconf,dsctl | -w",
		"ldappasswd | -w -s -a",
		"kadmin,kadmin.local | -w -pw",
		"addprinc,cpw,change_password | -pw",
		"smbclient,net ads,net rpc,rpcclient,winexe,smbget,wmic,samba-tool | -U% -U",
		"xfreerdp,rdesktop,evil-winrm,netexec,crackmapexec,psexec | -p",
		// HTTP, mail, files
		"curl,curlie | -u: -U: --user: --proxy-user:",
		"http,https,xh,xhs | -a: --auth:",
		"lftp | -u,",
		"swaks | -ap",
		"sendemail | -xp",
		"ncftp,ncftpput,ncftpget,davmail | -p",
		"plink,pscp,psftp,putty | -pw",
		"sshpass | -p",
		"mosquitto_pub,mosquitto_sub,mosquitto_rr | -P --pw",
		"rabbitmqadmin | -p",
		"ipmitool | -P",
		"mcrcon | -p",
		"snmpget,snmpwalk,snmpbulkwalk,snmpset,snmptrap | -c -A -X",
		// archives and keys
		"7z,7za,7zr,7zz,rar,unrar | -p… -hp…",
		"zip,unzip,zipcloak,zipinfo | -P",
		"pdftotext,pdfinfo,pdftoppm,pdfimages | -upw -opw",
		"steghide,veracrypt | -p",
		"openssl | -passin -passout -pass -k",
		"ssh-keygen | -N -P",
		"apksigner | --ks-pass --key-pass",
		"osslsigncode | -pass",
		"signtool | -p",
		"certutil,pk12util | -K -W -w",
		"security unlock-keychain,security create-keychain,security set-keychain-password,security set-keychain-settings | -p",
		"security import,security export | -P",
		"security add-generic-password,security add-internet-password | -w",
		"hdiutil | -passphrase",
		"altool | -p",
		// registries and clouds
		"docker login,podman login,nerdctl login,buildah login,skopeo login,oras login,crane auth login,helm registry login,oc login,cf login,ibmcloud login,conan,twine,argocd login | -p",
		"podman,buildah,skopeo,crictl | --creds: --src-creds: --dest-creds:",
		"ctr | -u: --user:",
		"az login,az ad,az vm,az sql | -p",
		"dotnet nuget push,gem push,cargo publish | -k --key",
		"useradd,usermod,adduser | -p",
		"erl,iex,elixir | -setcookie --cookie",
	} {
		programs, flags, _ := strings.Cut(line, " | ")
		for flag := range strings.FieldsSeq(flags) {
			var f programFlag
			flag, f.isJoined = strings.CutSuffix(flag, "…")
			if last := flag[len(flag)-1]; strings.IndexByte(":%,", last) >= 0 {
				flag, f.separator = flag[:len(flag)-1], last
			}
			if out[flag] == nil {
				out[flag] = map[string][]programFlag{}
			}
			for program := range strings.SplitSeq(programs, ",") {
				program, f.then, _ = strings.Cut(program, " ")
				out[flag][program] = append(out[flag][program], f)
			}
		}
	}
	return out
}()

// maxFlag is the length of the longest flag in programFlags, in bytes.
const maxFlag = 12

// lookAtProgramFlag looks at the password after a flag of a program that has one there, and reports
// whether there was one.
func (w *search) lookAtProgramFlag(at int) bool {
	end := at + 1
	for end < len(w.text) && end-at < maxFlag && (lex.IsLetter(w.text[end]) || w.text[end] == '-') {
		end++
	}
	for _, flag := range []lex.Span{lex.Between(at, end), lex.Between(at, min(at+len("-p"), end))} {
		if programs := programFlags[string(flag.In(w.text))]; programs != nil && w.lookAtPrograms(flag, programs) {
			return true
		}
		if flag.End-flag.Start <= len("-p") {
			break
		}
	}
	return false
}

// lookAtPrograms looks at the password after a flag that some programs have.
func (w *search) lookAtPrograms(flag lex.Span, programs map[string][]programFlag) bool {
	value, isJoined := valueOfFlag(w.text, flag)
	if value.Start == value.End || w.text[value.Start] == '-' { // the next flag
		return false
	}
	command := commandBefore(w.text, flag.Start)
	for n, word := range commandWords(command) {
		for _, f := range programs[string(word)] {
			if f.isJoined && !isJoined || f.then != "" && !bytes.Contains(command[n:], []byte(f.then)) {
				continue
			}
			switch {
			case f.separator == ',' && value.End < len(w.text) && w.text[value.End] == ',':
				return w.addIfPassword(valueAt(w.text, value.End+1)) // a comma ends a value
			case f.separator != 0:
				return w.addUserPassword(value, f.separator)
			}
			return w.addFlagPassword(flag, value)
		}
	}
	return false
}

// valueOfFlag returns the value of a flag, and whether it is in the same word.
func valueOfFlag(text []byte, flag lex.Span) (value lex.Span, isJoined bool) {
	start := flag.End
	n := lex.Past(text, start, "\"'\\", 8)
	switch {
	case n > start && n < len(text) && text[n] == ',':
		start = n + 1 // in an array
	case start < len(text) && text[start] == '=':
		start++
	case flag.End-flag.Start == len("-p"):
		isJoined = n < len(text) && text[n] > ' '
	}
	value = passwordAt(text, start)
	if bytes.HasPrefix(value.In(text), []byte("pass:")) {
		value.Start += len("pass:")
	}
	return value, isJoined
}

// addFlagPassword adds the password after a flag, and reports whether it is one. A short one is added
// with its flag, since it is no word of its own.
func (w *search) addFlagPassword(flag, value lex.Span) bool {
	if value.Start > flag.End || value.End-value.Start >= values.MinSecret {
		return w.addIfPassword(value)
	}
	if !isSurelyPassword(value.In(w.text)) {
		return w.addIfPassword(value)
	}
	w.add(Secret{Value: lex.Between(flag.Start, value.End), FlagLength: value.Start - flag.Start})
	return true
}

// addUserPassword adds the password of user:PASSWORD, or the user where the password is empty and
// the user is a key, and reports whether there is one.
func (w *search) addUserPassword(value lex.Span, separator byte) bool {
	n := bytes.IndexByte(value.In(w.text), separator)
	switch {
	case n <= 0:
		return false
	case value.Start+n+1 == value.End:
		return w.addIfSecret(lex.Span{}, lex.Between(value.Start, value.Start+n), values.KeyPlace)
	}
	return w.addIfPassword(lex.Between(value.Start+n+1, value.End))
}

// addIfPassword adds a value in the place of a password, and reports whether it is one. A single word
// is replaced nowhere else.
func (w *search) addIfPassword(value lex.Span) bool {
	v := value.In(w.text)
	isPassword := isSurelyPassword(v)
	isWord := !isPassword && values.WordingOf(string(v)) == values.OneWord
	if isPassword || isWord {
		w.add(Secret{Value: value, IsWords: isWord})
	}
	return isPassword || isWord
}

// passwordAt returns the value at a place: in quotes all of it, with its spaces.
func passwordAt(text []byte, at int) lex.Span {
	value := valueAt(text, at)
	if value.Start == at || value.End == len(text) || text[value.End] != ' ' {
		return value
	}
	quote := text[value.Start-1]
	if strings.IndexByte("\"'", quote) < 0 {
		return value
	}
	end := min(len(text), value.Start+maxQuoted)
	n := bytes.IndexAny(text[value.Start:end], "\n\\"+string(quote))
	if n < 0 || text[value.Start+n] == '\n' {
		return value
	}
	return lex.Between(value.Start, value.Start+n)
}

// maxQuoted is the length of the longest password in quotes that has spaces, in bytes.
const maxQuoted = 64

// isSurelyPassword reports whether a value where nothing but a password can stand is one: all but
// a reference, a placeholder as [PASSWORD], and a single word, which is likely to stand elsewhere, too.
func isSurelyPassword(v []byte) bool {
	if len(v) == 0 || v[0] == '-' || v[0] == '[' || bytes.HasPrefix(v, []byte(values.Mark)) || values.IsReference(string(v)) {
		return false
	}
	if bytes.IndexByte(v, ' ') > 0 {
		return len(v) >= values.MinWord && bytes.IndexAny(v, "$<{(`") < 0
	}
	return isPasswordOfUser(v)
}

// commandBefore returns what stands before a place in the same command, at most maxCommand bytes.
func commandBefore(text []byte, at int) []byte {
	line := text[max(at-maxCommand, 0):at]
	line = line[lastLineEnd(line):]
	for _, end := range commandEnds {
		line = line[bytes.LastIndex(line, end)+1:]
	}
	return line
}

// commandEnds end a command, and another one follows in the same line.
var commandEnds = [][]byte{[]byte("; "), []byte("| "), []byte("& "), []byte("$(")}

// commandWords yields the words of a command, without what encloses them and without folders, and
// where they end.
func commandWords(command []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for at := 0; at < len(command); {
			end := at + max(bytes.IndexAny(command[at:], wordEnds), 0)
			if end == at && strings.IndexByte(wordEnds, command[at]) < 0 {
				end = len(command)
			}
			if end > at && !yield(end, command[at:end]) {
				return
			}
			at = end + 1
		}
	}
}

// wordEnds are the bytes that end a word of a command.
const wordEnds = "/ \"'\\`(),\t[]=;|&"
