/** A command line and what it does. */
type Example = readonly [line: string, effect: string]

/** Examples of each command, by its words; the first one also completes an error about missing arguments. */
export const EXAMPLES: Readonly<Record<string, readonly [Example, ...Example[]]>> = {
  http: [
    ['adit http 3000', 'a random name for the web service on port 3000'],
    ['adit http 3000 --url https://app.example.com', 'a name of your choice'],
    ['adit http 3000 --basic-auth ada:secret-password', 'visitors need a password'],
    ['adit http file:///var/www', 'a directory, without a web server'],
  ],
  tcp: [
    ['adit tcp 22', 'a public port for SSH on this machine'],
    ['adit tcp db.internal:5432 --remote-addr tunnel.example.com:20001', 'a reserved public port'],
  ],
  tls: [
    ['adit tls 443 --url tls://app.example.com', 'pass TLS through to the local service'],
    ['adit tls 8080 --crt cert.pem --key key.pem', 'terminate TLS in the agent'],
  ],
  start: [
    ['adit start web db', 'two tunnels from the configuration file'],
    ['adit start --all', 'all of them'],
    ['adit start --none', 'none; the local API starts tunnels'],
  ],
  tunnel: [['adit tunnel --label app=web 3000', 'serve the edges whose backend asks for app=web']],
  docker: [
    ['adit docker', 'follow the containers of the local engine'],
    ['adit docker --docker-host unix:///run/podman/podman.sock', 'those of Podman'],
  ],
  'config add-authtoken': [
    ['adit config add-authtoken TOKEN', 'save the token of the agent'],
    ['adit config add-authtoken - < token.txt', 'read it from a file'],
  ],
  'config add-api-key': [['adit config add-api-key KEY', 'save the key for adit api']],
  'config add-connect-url': [
    ['adit config add-connect-url connect.tunnels.example.com:4443', 'use the server at this address'],
  ],
  'config add-update-url': [
    [
      'adit config add-update-url https://tunnels.example.com/download release.pub',
      'update from this server',
    ],
  ],
  'config check': [
    ['adit config check', 'check the default file'],
    ['adit config check --config work.yml', 'check another one'],
  ],
  'config reload': [['adit config reload', 'apply what changed in the file; other tunnels stay online']],
  'config edit': [['EDITOR=vim adit config edit', 'edit the default file with vim']],
  'config upgrade': [
    ['adit config upgrade --dry-run', 'print the file in the newest version'],
    ['adit config upgrade 3', 'change it; the old one is kept as a backup'],
  ],
  apply: [
    ['adit apply -f account.yml', 'print the plan, then make the account match the document'],
    ['adit apply -f account.yml --diff', 'print the plan alone'],
    ['adit apply -f account.yml --prune', 'also delete what is no longer in the document'],
    ['adit apply --schema > account.schema.json', 'completion and checks in editors'],
  ],
  export: [['adit export > account.yml', 'write the account to a file, without secrets']],
  'policy check': [
    ['adit policy check policy.yml', 'the policy of an https endpoint'],
    ['adit policy check policy.yml --protocol tcp --edge', 'the policy of a TCP edge'],
  ],
  'policy test': [
    ["adit policy test policy.yml --request 'GET https://app.example.com/'", 'what each rule does with it'],
    [
      "adit policy test policy.yml --request 'POST https://app.example.com/' --body @hook.json",
      'a request with a body',
    ],
    [
      "adit policy test policy.yml --request 'GET https://app.example.com/' --client-ip 198.51.100.7 --signed-in-as ana@example.com",
      'from a signed-in visitor',
    ],
  ],
  'policy explain': [
    ['adit policy explain policy.yml --har session.har --entry 3', 'the third request in an archive'],
    ['adit policy explain policy.yml --capture airt_ID', "a request from the agent's inspector"],
  ],
  'policy from-edge': [
    ['adit policy from-edge edghts_ID > policy.yml', 'write the policy of an edge to a file'],
  ],
  diagnose: [
    ['adit diagnose', 'test the connection to the configured server'],
    ['adit diagnose -w report.json', 'write the findings to a file, without secrets'],
  ],
  'service install': [
    ['adit service install --config /etc/adit/agent.yml', 'start all tunnels of this file at boot'],
  ],
  'service start': [['adit service start', 'start the installed service']],
  'service stop': [['adit service stop', 'stop it until the next boot']],
  'service restart': [['adit service restart', 'apply a changed configuration file']],
  'service status': [['adit service status', 'show whether it is running; exit code 3 if not']],
  'service uninstall': [['adit service uninstall', 'stop it and remove it']],
  update: [
    ['adit update', 'install the newest version'],
    ['adit update --channel beta', 'the newest version on another channel'],
  ],
  version: [['adit version', 'print the version']],
  completion: [
    ['source <(adit completion bash)', 'complete commands and flags in this shell'],
    ['adit completion fish > ~/.config/fish/completions/adit.fish', 'in every new fish shell'],
  ],
  credits: [['adit credits', 'print packages and licences']],
}

/** The examples of a command, for its help. */
export function formatExamples(path: string): string {
  const examples = EXAMPLES[path] ?? []
  const width = Math.max(0, ...examples.map(([line]) => line.length))
  return examples.length === 0
    ? ''
    : `\nExamples:\n${examples.map(([line, effect]) => `  ${line.padEnd(width)}  # ${effect}\n`).join('')}`
}
