/** A command line that a user might write, and the whole output of the program. */
export interface Mistake {
  readonly line: string
  readonly says: string
  /** Without a configured server. */
  readonly offline?: true
  /** The configuration file. */
  readonly config?: string
  readonly env?: Record<string, string>
  /** A server on free ports with a data directory of its own. */
  readonly onPorts?: true
  /** For a program that keeps running: the text after which it is stopped. */
  readonly until?: string
}

/** The lines of an output. */
function text(...lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}

/** The mistakes, with the texts of the product; `{name}` stands for a value that differs between runs. */
export const MISTAKES: readonly Mistake[] = [
  {
    line: 'adit http',
    offline: true,
    says: text('adit http needs the address of a local service.', 'For example: adit http 3000'),
  },
  {
    line: 'adit http --port 3000',
    offline: true,
    says: text('adit http has no flag --port. The address is its argument.', 'Write: adit http 3000'),
  },
  {
    line: 'adit htp 3000',
    offline: true,
    says: text('there is no command "adit htp".', 'Did you mean: adit http 3000'),
  },
  {
    line: 'adit 3000',
    offline: true,
    says: text(
      'there is no command "adit 3000".',
      'To give the web service on port 3000 a public URL: adit http 3000',
    ),
  },
  {
    line: 'adit login',
    offline: true,
    says: text('there is no command "adit login".', 'Did you mean: adit config add-authtoken TOKEN'),
  },
  {
    line: 'adit expose 3000',
    offline: true,
    says: text('there is no command "adit expose".', 'Did you mean: adit http 3000'),
  },
  {
    line: 'adit frobnicate',
    offline: true,
    says: text('there is no command "adit frobnicate".', 'All commands: adit help'),
  },
  {
    line: 'adit http 3000 4000',
    offline: true,
    says: text('adit http takes one argument, and "4000" is one too many.', 'Write: adit http 3000'),
  },
  {
    line: 'adit http 3000 --url',
    offline: true,
    says: text(
      '--url needs a value: public URL to request, for example https://app.example.com.',
      'All flags: adit http --help',
    ),
  },
  {
    line: 'adit http 3000 --subdomian foo',
    offline: true,
    says: text('adit http has no flag --subdomian. Did you mean --subdomain?', 'All flags: adit http --help'),
  },
  {
    line: 'adit http -port 3000',
    offline: true,
    says: text('there is no flag -port; long flags take two hyphens.', 'Write: --port'),
  },
  {
    line: 'adit http 3000 --inspect=maybe',
    offline: true,
    says: text('--inspect must be true or false, not "maybe"'),
  },
  {
    line: 'adit http 3000 --pooling-weight 20000',
    offline: true,
    says: text('--pooling-weight must be a whole number from 0 to 10000, not the number 20000'),
  },
  {
    line: 'adit http 3000 --circuit-breaker half',
    offline: true,
    says: text('--circuit-breaker must be a number from 0 to 1, not "half"'),
  },
  {
    line: 'adit http 99999',
    offline: true,
    says: text('"99999": the port must be a number from 1 to 65535.', 'For example: adit http 3000'),
  },
  {
    line: 'adit tcp localhost',
    offline: true,
    says: text('"localhost" needs a port, for example localhost:22.', 'For example: adit tcp 3000'),
  },
  {
    line: 'adit http 3000',
    offline: true,
    says: text(
      'No server is configured, and none was found running on this machine.',
      'Start one here with:       adit server',
      'Or use one elsewhere with: adit config add-connect-url HOST:PORT',
      '                           adit config add-authtoken TOKEN',
    ),
  },
  {
    line: 'adit http 3000 --basic-auth ada',
    offline: true,
    says: text('an entry of --basic-auth must be user:password'),
  },
  {
    line: 'adit http 3000 --cidr-allow 10.0.0.300',
    offline: true,
    says: text('"10.0.0.300" in --cidr-allow is not a CIDR such as 10.0.0.0/8'),
  },
  {
    line: 'adit http 3000 --scheme ftp',
    offline: true,
    says: text('--scheme must be one of http, https, not "ftp"'),
  },
  {
    line: 'adit http 3000 --oauth google',
    offline: true,
    says: text(
      '--oauth needs your own application at google: create one there, then add --oauth-client-id and --oauth-client-secret',
    ),
  },
  {
    line: 'adit http 3000 --config /nonexistent.yml',
    offline: true,
    says: text(
      'cannot read the configuration file /nonexistent.yml: no such file',
      'Create it with: adit config edit --config /nonexistent.yml',
    ),
  },
  {
    line: 'adit http 3000 --url https://a.example/path',
    offline: true,
    says: text('the url "https://a.example/path" must not have a path, not even "/"'),
  },
  {
    line: 'adit start',
    offline: true,
    says: text('nothing to start; use adit start NAME..., adit start --all or adit start --none'),
  },
  {
    line: 'adit tunnel 80',
    offline: true,
    says: text('a labelled tunnel needs labels: adit tunnel --label key=value ADDRESS'),
  },
  {
    line: 'adit config add-authtoken',
    offline: true,
    says: text('adit config add-authtoken needs a token.', 'For example: adit config add-authtoken TOKEN'),
  },
  {
    line: 'adit config add-authtokn x',
    offline: true,
    says: text(
      'there is no command "adit config add-authtokn".',
      'Did you mean: adit config add-authtoken x',
    ),
  },
  {
    line: 'adit help ERR_ADIT_1',
    offline: true,
    says: text('there is no error code ERR_ADIT_1', 'All codes: adit help errors'),
  },
  {
    line: 'adit completion tcsh',
    offline: true,
    says: text('there is no completion for tcsh.', 'Write: adit completion bash|zsh|fish|powershell'),
  },
  {
    line: 'adit http 80',
    offline: true,
    config: 'version: 3\nagent:\n  authtoken: [\n',
    says: text(
      '{user}/.config/adit/adit.yml line 4: Flow sequence in block collection must be sufficiently indented and end with a ]',
      'Correct it with: adit config edit --config {user}/.config/adit/adit.yml',
    ),
  },
  {
    line: 'adit http 80',
    offline: true,
    config: 'version: 3\nagent:\n  autthoken: x\n',
    says: text('{user}/.config/adit/adit.yml line 3: unknown key "autthoken"; did you mean "authtoken"?'),
  },
  {
    line: 'adit http 80',
    offline: true,
    config: 'version: 1\nauthtoken: x\n',
    says: text(
      '{user}/.config/adit/adit.yml line 1: version must be 2 or 3, not "1"',
      'Upgrade it to version 3 with: adit config upgrade --config {user}/.config/adit/adit.yml',
    ),
  },
  {
    line: 'adit http 80',
    offline: true,
    config: 'version: 9\n',
    says: text(
      '{user}/.config/adit/adit.yml line 1: version must be 2 or 3, not "9"',
      'Correct it with: adit config edit --config {user}/.config/adit/adit.yml',
    ),
  },
  {
    line: 'adit start wb',
    offline: true,
    config: 'version: 2\ntunnels:\n  web:\n    proto: http\n    addr: 80\n',
    says: text(
      '"wb" is not defined. Did you mean: adit start web',
      'Defined: web',
      'Files read: {user}/.config/adit/adit.yml',
      'Define it with: adit config edit',
    ),
  },
  {
    line: 'adit start a',
    offline: true,
    config: 'version: 3\nendpoints:\n  - name: a\n    url: https://a.test\n',
    says: text(
      '{user}/.config/adit/adit.yml line 3: upstream.url of the endpoint "a": "upstream.url" is required: the port, host:port or origin of the local service',
    ),
  },
  {
    line: 'adit http 3000',
    offline: true,
    env: { ADIT_CONNECT_URL: 'tunnel.example.com:4443' },
    says: text(
      'No authtoken is configured for the server tunnel.example.com:4443.',
      'Create one in the dashboard of the server and save it with: adit config add-authtoken TOKEN',
    ),
  },
  {
    line: 'adit http 3000 --url foo',
    says: text(
      'Session        online',
      'failed to start tunnel: "foo" is not a complete name. To use it below the domain of this server: --url https://foo.adit.localhost',
      '',
      'ERR_ADIT_319',
      'adit help ERR_ADIT_319',
    ),
  },
  {
    line: 'adit http 3000 --url https://foo.adit.localhost:9',
    says: text(
      'Session        online',
      'failed to start tunnel: The options of the tunnel are not valid: this server serves https on port {https}; leave :9 out of the URL.',
      '',
      'ERR_ADIT_33404',
      'adit help ERR_ADIT_33404',
    ),
  },
  {
    line: 'adit http 3000 --url https://www.example.com',
    says: text(
      'Session        online',
      'failed to start tunnel: The name www.example.com must be reserved before an agent may use it. Reserve it with: adit api reserved-domains create --domain www.example.com',
      'Or use a name right below adit.localhost.',
      '',
      'ERR_ADIT_319',
      'adit help ERR_ADIT_319',
    ),
  },
  {
    line: 'adit http 3000 --url https://theirs.adit.localhost',
    says: text(
      'Session        online',
      'failed to start tunnel: The name theirs.adit.localhost belongs to another account. Choose another one, or leave --url out for a random name.',
      '',
      'ERR_ADIT_320',
      'adit help ERR_ADIT_320',
    ),
  },
  {
    line: 'adit http 3000 --url https://taken.adit.localhost',
    says: text(
      'Session        online',
      'failed to start tunnel: https://taken.adit.localhost:{https} is already online. It is already bound to another tunnel session: stop that tunnel, or enable pooling on both (--pooling-enabled) to share the address.',
      '',
      'ERR_ADIT_334',
      'adit help ERR_ADIT_334',
    ),
  },
  {
    line: 'adit http 3000 --connect-url 127.0.0.1:{early} --root-cas {earlyCa}',
    says: text(
      'Session        closed (The certificate of 127.0.0.1:{early} is not trusted: it is not valid yet.)',
      'The certificate of 127.0.0.1:{early} is not trusted: it is not valid yet.',
      'If today is not {today}, set the clock of this machine, for example with: timedatectl set-ntp true',
      'Otherwise check the certificate on the server with: adit server certs',
    ),
  },
  {
    line: 'adit http 3000 --url https://*.wild.example.com',
    says: text(
      'Session        online',
      "failed to start tunnel: The wildcard *.wild.example.com must be reserved before an agent may use it. Reserve it with: adit api reserved-domains create --domain '*.wild.example.com'",
      '',
      'ERR_ADIT_318',
      'adit help ERR_ADIT_318',
    ),
  },
  {
    line: 'adit http 3000 --authtoken wrong',
    says: text(
      'Session        closed (The authtoken is malformed. Copy it again from the dashboard and save it with: adit config add-authtoken TOKEN)',
      'authentication failed: The authtoken is malformed. Copy it again from the dashboard and save it with: adit config add-authtoken TOKEN',
      '',
      'ERR_ADIT_105',
      'adit help ERR_ADIT_105',
    ),
  },
  {
    line: 'adit http 3000 --authtoken {apiKey}',
    says: text(
      'Session        closed (This is an API key, not an authtoken. Create an authtoken with: adit api credentials create --api-key KEY)',
      'authentication failed: This is an API key, not an authtoken. Create an authtoken with: adit api credentials create --api-key KEY',
      '',
      'ERR_ADIT_107',
      'adit help ERR_ADIT_107',
    ),
  },
  {
    line: 'adit http 3000 --connect-url 127.0.0.1:{https}',
    until: 'Session',
    says: text(
      'Session        connecting (127.0.0.1:{https} refused the TLS handshake; it is not the address for agents, which the server prints as "Agents" (save it with: adit config add-connect-url HOST:PORT))',
    ),
  },
  {
    line: 'adit http 3000 --connect-url {apiHost}',
    until: 'Session',
    says: text(
      'Session        connecting ({apiHost} does not speak TLS (an HTTP port?); it is not the address for agents, which the server prints as "Agents" (save it with: adit config add-connect-url HOST:PORT))',
    ),
  },
  {
    line: 'adit http 3000 --connect-url 127.0.0.1:{http}',
    until: 'Session',
    says: text(
      'Session        connecting (127.0.0.1:{http} does not speak TLS (an HTTP port?); it is not the address for agents, which the server prints as "Agents" (save it with: adit config add-connect-url HOST:PORT))',
    ),
  },
  {
    line: 'adit http 3000 --connect-url 127.0.0.1:1',
    until: 'Session',
    says: text(
      'Session        connecting (nothing listens at 127.0.0.1:1 (connection refused); is the server running? Test each step with: adit diagnose)',
    ),
  },
  {
    line: 'adit http 3000 --root-cas trusted',
    says: text(
      'Session        closed (The certificate of {agent} is not trusted: its authority is unknown to this machine.)',
      'The certificate of {agent} is not trusted: its authority is unknown to this machine.',
      'Set the authority of the server with --root-cas FILE or the key connect_cas; a server without a public certificate keeps it as ca.pem in its data directory.',
    ),
  },
  {
    line: 'adit http 3000 --oauth goggle --oauth-client-id a --oauth-client-secret b',
    says: text(
      'Session        online',
      'failed to start tunnel: The options of the tunnel are not valid: "goggle" is not a provider of OAuth sign-ins; did you mean "google"?',
      '',
      'ERR_ADIT_33404',
      'adit help ERR_ADIT_33404',
    ),
  },
  {
    line: 'adit http 3000 --verify-webhook gitub --verify-webhook-secret a',
    says: text(
      'Session        online',
      'failed to start tunnel: The options of the tunnel are not valid: "gitub" is not a provider of webhooks; did you mean "github"?',
      '',
      'ERR_ADIT_33404',
      'adit help ERR_ADIT_33404',
    ),
  },
  {
    line: 'adit http 3000 --verify-webhook github',
    says: text('--verify-webhook needs the secret with which github signs: --verify-webhook-secret'),
  },
  {
    line: 'adit http 3000 --web-addr 127.0.0.1:{busy}',
    says: text(
      'cannot serve the local API: listen tcp 127.0.0.1:{busy}: bind: address already in use',
      'Choose another address with the key web_addr, or remove it to use the next free port.',
    ),
  },
  {
    line: 'adit api reserved-domain list',
    says: text('"adit api" has no command "reserved-domain". Did you mean: adit api reserved-domains list'),
  },
  {
    line: 'adit api nothing list',
    says: text('"adit api" has no command "nothing". adit api --help lists all resources.'),
  },
  {
    line: 'adit api ip-policies lst',
    says: text('"adit api ip-policies" has no command "lst". Did you mean: adit api ip-policies list'),
  },
  {
    line: 'adit api ip-policies rm ipp_1',
    says: text('"adit api ip-policies" has no command "rm". Did you mean: adit api ip-policies delete ipp_1'),
  },
  {
    line: 'adit api ip-policies list --limt 5',
    says: text(
      '"adit api ip-policies list" has no flag --limt. Did you mean --limit? Add --help to see all.',
    ),
  },
  {
    line: 'adit api ip-policies get',
    says: text('id is missing. Write: adit api ip-policies get ID'),
  },
  {
    line: 'adit api ip-policies get foo',
    says: text('"foo" is not the id of an IP policy.', 'ERR_ADIT_222 (status 404): adit help ERR_ADIT_222'),
  },
  {
    line: 'adit api ip-policy-rules create --cidr 10.0.0.0/8',
    says: text(
      '--action is missing. Write: adit api ip-policy-rules create --cidr TEXT --action allow|deny --ip-policy-id TEXT',
    ),
  },
  {
    line: 'adit api ip-policies list --api-key wrong',
    says: text(
      'Unknown API key. It may have been deleted; create one with POST /api_keys.',
      'ERR_ADIT_203 (status 401): adit help ERR_ADIT_203',
    ),
  },
  {
    line: 'adit api ip-policies list --api-key {authtoken}',
    says: text(
      'This is an authtoken of an agent, not an API key. Create an API key with POST /api_keys.',
      'ERR_ADIT_206 (status 401): adit help ERR_ADIT_206',
    ),
  },
  {
    line: 'adit api ip-policies list --api-url https://127.0.0.1:{https}',
    says: text(
      'The API at https://127.0.0.1:{https} cannot be reached: it does not speak TLS, or not for this name. Is the server running? Choose another one with --api-url.',
    ),
  },
  {
    line: 'adit api ip-policies list',
    offline: true,
    says: text(
      'No API key was found. Pass one with --api-key or ADIT_API_KEY, or save it with "adit config add-api-key KEY".',
    ),
  },
  {
    line: 'adit server start',
    says: text('adit server has no command "start". To start the server: adit server'),
  },
  {
    line: 'adit server bakup all.db',
    says: text('adit server has no command "bakup". Did you mean: adit server backup'),
  },
  {
    line: 'adit server events ded ed_1',
    says: text('adit server events has no command "ded". Did you mean: adit server events dead'),
  },
  {
    line: 'adit server events --data-dir {home}/none',
    says: text(
      'There is no database in {home}/none. Set the data directory of the server with --data-dir, or start the server first: adit server',
    ),
  },
  {
    line: 'adit server events dead ed_1 --data-dir {dataDir}',
    says: text(
      'There is no event destination ed_1. List those that have received events with: adit server events',
    ),
  },
  {
    line: 'adit server check now',
    says: text('adit server check takes no argument, but got "now". Write: adit server check'),
  },
  {
    line: 'adit server backup',
    says: text('Name the file to write: adit server backup FILE.'),
  },
  {
    line: 'adit server --prot 80',
    says: text(
      '"--prot" is not a flag of adit server. Did you mean --proxy-protocol? adit server --help lists them all.',
    ),
  },
  {
    line: 'adit server --domian example.com',
    says: text(
      '"--domian" is not a flag of adit server. Did you mean --domain? adit server --help lists them all.',
    ),
  },
  {
    line: 'adit server --database-url mysql://x',
    says: text('--database-url has to start with postgres://; leave it unset for the embedded database.'),
  },
  {
    line: 'adit server --database-url postgres://u@127.0.0.1:1/adit',
    onPorts: true,
    says: text(
      'The PostgreSQL database cannot be used: 127.0.0.1:1: nothing listens there (connection refused). Check that it is running, and --database-url.',
    ),
  },
  {
    line: 'adit server',
    env: { ADIT_DATADIR: '/x' },
    says: text(
      'There is no setting ADIT_DATADIR. Did you mean ADIT_DATA_DIR? adit server --help lists them all.',
    ),
  },
  {
    line: 'adit server --api-addr 127.0.0.1:{busy}',
    onPorts: true,
    says: text(
      '127.0.0.1:{busy} is in use by another program. Stop it, or choose another address (adit server --help).',
    ),
  },
  {
    line: 'adit server --http-addr 192.0.2.1:80',
    onPorts: true,
    says: text(
      '192.0.2.1 is not an address of this machine. Listen on one of its addresses, or on all of them: 0.0.0.0:80.',
    ),
  },
  {
    line: 'adit server --master-key-file {home}/none/key',
    onPorts: true,
    says: text(
      'The master key file {home}/none/key cannot be created: there is no directory {home}/none. Create it, or name another file with --master-key-file.',
    ),
  },
  {
    line: 'adit server --data-dir /proc/adit',
    says: text(
      'The directory /proc/adit cannot be created: the file system of /proc does not allow new directories. Choose another one with --data-dir DIR.',
    ),
  },
  {
    line: 'adit server restore /nonexistent.db --data-dir {home}/restored',
    says: text('There is no file /nonexistent.db.'),
  },
]

/** Errors of the system that need another machine or user, and their texts. */
export const SYSTEM_ERRORS: readonly (readonly [error: object, sentence: string])[] = [
  [
    { code: 'EACCES', syscall: 'listen', address: '0.0.0.0', port: 80 },
    'No permission to listen on 0.0.0.0:80: ports below 1024 are privileged. Choose a port above 1023, or run the server as a service (docs/install.md).',
  ],
  [
    { code: 'EACCES', syscall: 'mkdir', path: '/var/lib/adit' },
    'The directory /var/lib/adit cannot be created: permission denied. Choose another one with --data-dir DIR.',
  ],
  [
    { code: 'ENOTDIR', syscall: 'mkdir', path: '/etc/hosts/adit' },
    'The directory /etc/hosts/adit cannot be created: a part of the path is not a directory. Choose another one with --data-dir DIR.',
  ],
  [
    { code: 'EROFS', syscall: 'open', path: '/var/lib/adit/node-id' },
    '/var/lib/adit/node-id cannot be used: the file system is read-only. Correct the path or its permissions (adit server --help).',
  ],
  [
    { code: 'ENOSPC', syscall: 'write', path: '/var/lib/adit/adit.db' },
    'The disk is full: /var/lib/adit/adit.db cannot be written. Free some space, then try again.',
  ],
  [{ code: 'ENOSPC', syscall: 'write' }, 'The disk is full. Free some space, then try again.'],
  [
    { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'nohost.invalid' },
    'The name nohost.invalid cannot be resolved. Listen on an IP address such as 127.0.0.1 or 0.0.0.0 (adit server --help).',
  ],
  [{ code: 'EMFILE', syscall: 'accept' }, 'System error: too many files are open.'],
]
