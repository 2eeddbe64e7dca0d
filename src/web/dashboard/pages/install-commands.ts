import type { PlatformInfo } from './platform.ts'

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

/** The other ways, of which a release may lack some; these agents have to be told the server. */
export function otherInstallCommands({ downloads }: PlatformInfo): readonly InstallCommand[] {
  if (downloads === null) return []
  const { files } = downloads
  const ways = {
    'adit-agent.tgz': {
      channel: 'With npm',
      command: (url: string) => `npm install --global ${url}`,
    },
    'adit_amd64.deb': {
      channel: 'On Debian and Ubuntu',
      command: (url: string) => `curl -fsSO ${url} && sudo apt install ./adit_amd64.deb`,
    },
    'adit-linux-x64.gz': {
      channel: 'As one file for Linux',
      command: (url: string) => `curl -fsS ${url} | gunzip > adit && chmod +x adit`,
    },
  }
  return Object.entries(ways)
    .filter(([file]) => files.includes(file))
    .map(([file, { channel, command }]) => ({
      channel,
      command: command(`${downloads.url}/download/${file}`),
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
