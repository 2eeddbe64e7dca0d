import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Candidate } from '../candidates.ts'
import { chooseForwards, describePortTunnel, type Forward, type Setting } from '../forwards.ts'
import { findFreePort, type Ready, startProgram } from '../processes.ts'

/** A real sshd, and a real ssh client that forwards remote ports. */
export async function startOpenSsh(setting: Setting): Promise<Candidate> {
  const { dir, link } = setting
  const [port, forwards] = [await findFreePort(), await chooseForwards(setting.upstream)]
  const inDir = (name: string) => join(dir, name)
  const hostKey = createKey(dir, 'host_key')
  const userKey = createKey(dir, 'user_key')
  writeFileSync(inDir('authorized_keys'), readFileSync(`${userKey}.pub`), { mode: 0o600 })
  writeFileSync(
    inDir('sshd_config'),
    `Port ${port}\nListenAddress ${link.listenHost}\nHostKey ${hostKey}\nAuthorizedKeysFile ${inDir('authorized_keys')}\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nMaxSessions 1000\n`,
  )
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true })
  const edge = await startProgram('/usr/sbin/sshd', ['-D', '-e', '-f', inDir('sshd_config')], {
    listens: port,
    host: link.listenHost,
  })
  await link.expose(port)
  const agent = await startSshClient(
    setting,
    { port, key: userKey, user: userInfo().username },
    forwards.flatMap(remoteForward),
    { listens: forwards.at(-1)!.remote },
  )
  return describePortTunnel('OpenSSH -R', forwards, { edge, agent })
}

/** Creates a key pair; returns the file of the private key. */
export function createKey(dir: string, name: string): string {
  const file = join(dir, name)
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
  return file
}

export function remoteForward({ local, remote }: Forward): string[] {
  return ['-R', `127.0.0.1:${remote}:127.0.0.1:${local}`]
}

/** Starts an ssh client beside the agents that keeps remote forwards open; returns its process group. */
export function startSshClient(
  { link }: Setting,
  { port, key, user }: { port: number | string; key: string; user: string },
  forwards: readonly string[],
  ready: Ready,
): Promise<number> {
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'BatchMode=yes']
  return link.startRemote(
    'ssh',
    [
      ...['-N', '-F', 'none', '-p', String(port), '-i', key, '-l', user],
      ...[...options, 'ExitOnForwardFailure=yes'].flatMap((option) => ['-o', option]),
      ...forwards,
      link.dialHost,
    ],
    ready,
  )
}
