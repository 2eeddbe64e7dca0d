import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Candidate } from '../candidates.ts'
import { chooseForwards, describePortTunnel, type Setting } from '../forwards.ts'
import { findFreePort, startProgram } from '../processes.ts'
import { createKey, startSshClient } from './openssh.ts'

/** sish with public TCP ports, and an OpenSSH client as its agent. */
export async function startSish(setting: Setting): Promise<Candidate> {
  const { dir, upstream, link } = setting
  const [port, web, forwards] = [await findFreePort(), await findFreePort(), await chooseForwards(upstream)]
  // It does not start without a directory of clients' keys, even when it admits everyone.
  const keys = join(dir, 'sish-keys')
  mkdirSync(keys)
  const edge = await startProgram(
    'sish',
    [
      ...[`--ssh-address=${link.listenHost}:${port}`, `--http-address=127.0.0.1:${web}`],
      ...['--tcp-address=127.0.0.1', '--force-tcp-address', '--bind-random-ports=false'],
      ...[
        '--authentication=false',
        `--private-keys-directory=${keys}`,
        `--authentication-keys-directory=${keys}`,
      ],
      // Its default closes connections that are idle for five seconds.
      ...['--idle-connection=false', '--load-templates=false'],
    ],
    { listens: port, host: link.listenHost },
  )
  await link.expose(port)
  const agent = await startSshClient(
    setting,
    { port, key: createKey(dir, 'sish_key'), user: 'bench' },
    forwards.flatMap(({ local, remote }) => ['-R', `${remote}:127.0.0.1:${local}`]),
    { listens: forwards.at(-1)!.remote },
  )
  return describePortTunnel('sish', forwards, { edge, agent })
}
