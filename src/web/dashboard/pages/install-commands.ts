import type { PlatformInfo } from '../../../dashboard/page-data.ts'

/** A way to get the agent from the server. */
export interface InstallCommand {
  /** What it is for, as the beginning of a sentence. */
  readonly channel: string
  readonly command: string
}

/**
 * The line that installs the agent on another machine and tells it this server and an authtoken; undefined where the server hands
 * out no agents.
 */
export function joinCommand({ downloads }: PlatformInfo, authtoken: string): string | undefined {
  return downloads ? `curl -fsS ${downloads.url}/install.sh | ADIT_AUTHTOKEN=${authtoken} sh` : undefined
}

/** What an agent on another machine has to know of this server. */
export function configureCommands({ agent_addr }: PlatformInfo, authtoken: string): readonly string[] {
  return [`adit config add-connect-url ${agent_addr}`, `adit config add-authtoken ${authtoken}`]
}

/** The other ways, of which a release may lack some; each line also tells the agent this server and an authtoken. */
export function otherInstallCommands(platform: PlatformInfo, authtoken: string): readonly InstallCommand[] {
  const { downloads } = platform
  if (downloads === null) return []
  const { files } = downloads
  const ways = {
    'adit-agent.tgz': {
      channel: 'With npm',
      install: (url: string) => `npm install --global ${url}`,
    },
    'adit_amd64.deb': {
      channel: 'On Debian and Ubuntu',
      install: (url: string) => `curl -fsSO ${url} && sudo apt install ./adit_amd64.deb`,
    },
    'adit-linux-x64.gz': {
      channel: 'As one file for Linux',
      install: (url: string) => `curl -fsS ${url} | gunzip | sudo install /dev/stdin /usr/local/bin/adit`,
    },
  }
  return Object.entries(ways)
    .filter(([file]) => files.includes(file))
    .map(([file, { channel, install }]) => ({
      channel,
      command: [install(`${downloads.url}/download/${file}`), ...configureCommands(platform, authtoken)].join(
        ' && ',
      ),
    }))
}

/** The line for a machine without an agent, whose SSH key is stored; undefined where the gateway is off. */
export function sshCommand({ ssh_addr }: PlatformInfo): string | undefined {
  const [, host, port] = /^(.+):(\d+)$/.exec(ssh_addr ?? '') ?? []
  if (host === undefined) return undefined
  return [
    'ssh',
    ...(port === '22' ? [] : ['-p', port]),
    '-R 443:localhost:3000',
    host.replace(/[[\]]/g, ''),
  ].join(' ')
}
