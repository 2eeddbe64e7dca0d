import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Candidate } from './candidates.ts'
import { findFreePort, startProgram } from './processes.ts'
import type { BenchUpstream } from './upstream.ts'

/** Other tunnels with plain TCP clients; each is measured when its program is on the PATH. */
export const OTHER_TUNNELS: Record<string, (dir: string, upstream: BenchUpstream) => Promise<Candidate>> = {
  async chisel(_dir, upstream) {
    const [server, http, tcp] = [await findFreePort(), await findFreePort(), await findFreePort()]
    const listening = ['server', '--reverse', '--host', '127.0.0.1', '--port', String(server)]
    const edge = await startProgram('chisel', listening, { listens: server })
    const forwards = [
      `R:127.0.0.1:${http}:127.0.0.1:${upstream.http}`,
      `R:127.0.0.1:${tcp}:127.0.0.1:${upstream.tcp}`,
    ]
    const agent = await startProgram('chisel', ['client', `127.0.0.1:${server}`, ...forwards], {
      listens: tcp,
    })
    return { name: 'chisel', http: { port: http, host: 'bench' }, tcp, parts: { edge, agent } }
  },
  async bore(_dir, upstream) {
    const [http, tcp] = [await findFreePort(), await findFreePort()]
    const edge = await startProgram('bore', ['server', '--min-port', '1024'], { listens: 7835 })
    const local = (port: number, publicPort: number) =>
      startProgram('bore', ['local', String(port), '--to', '127.0.0.1', '--port', String(publicPort)], {
        listens: publicPort,
      })
    const agent = await local(upstream.http, http)
    const second = await local(upstream.tcp, tcp)
    return { name: 'bore', http: { port: http, host: 'bench' }, tcp, parts: { edge, agent, second } }
  },
  async frps(dir, upstream) {
    const [server, http, tcp] = [await findFreePort(), await findFreePort(), await findFreePort()]
    const proxy = (name: string, local: number, remote: number) =>
      `[[proxies]]\nname = "${name}"\ntype = "tcp"\nlocalIP = "127.0.0.1"\nlocalPort = ${local}\nremotePort = ${remote}\n`
    const served = write(dir, 'frps.toml', `bindAddr = "127.0.0.1"\nbindPort = ${server}\n`)
    const client = write(
      dir,
      'frpc.toml',
      `serverAddr = "127.0.0.1"\nserverPort = ${server}\n${proxy('http', upstream.http, http)}${proxy('tcp', upstream.tcp, tcp)}`,
    )
    const edge = await startProgram('frps', ['-c', served], { listens: server })
    const agent = await startProgram('frpc', ['-c', client], { listens: tcp })
    return { name: 'frp', http: { port: http, host: 'bench' }, tcp, parts: { edge, agent } }
  },
  async rathole(dir, upstream) {
    const [server, http, tcp] = [await findFreePort(), await findFreePort(), await findFreePort()]
    const token = 'token = "bench"'
    const served = write(
      dir,
      'rathole-server.toml',
      `[server]\nbind_addr = "127.0.0.1:${server}"\n[server.services.http]\n${token}\nbind_addr = "127.0.0.1:${http}"\n[server.services.tcp]\n${token}\nbind_addr = "127.0.0.1:${tcp}"\n`,
    )
    const client = write(
      dir,
      'rathole-client.toml',
      `[client]\nremote_addr = "127.0.0.1:${server}"\n[client.services.http]\n${token}\nlocal_addr = "127.0.0.1:${upstream.http}"\n[client.services.tcp]\n${token}\nlocal_addr = "127.0.0.1:${upstream.tcp}"\n`,
    )
    const edge = await startProgram('rathole', ['--server', served], { listens: server })
    // A service's port opens only after the client has connected.
    const agent = await startProgram('rathole', ['--client', client], { listens: http })
    return { name: 'rathole', http: { port: http, host: 'bench' }, tcp, parts: { edge, agent } }
  },
  async sish(dir, upstream) {
    const [server, web, http, tcp] = await Promise.all([
      findFreePort(),
      findFreePort(),
      findFreePort(),
      findFreePort(),
    ])
    const key = join(dir, 'sish_key')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
    const edge = await startProgram(
      'sish',
      [
        ...[`--ssh-address=127.0.0.1:${server}`, `--http-address=127.0.0.1:${web}`],
        ...[
          '--authentication=false',
          '--bind-random-ports=false',
          `--private-keys-directory=${dir}/sish-keys`,
        ],
      ],
      { listens: server },
    )
    const agent = await startProgram(
      'ssh',
      [
        ...['-N', '-F', 'none', '-p', String(server), '-i', key, '-l', 'bench'],
        ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'BatchMode=yes'],
        ...[
          '-R',
          `${http}:127.0.0.1:${upstream.http}`,
          '-R',
          `${tcp}:127.0.0.1:${upstream.tcp}`,
          '127.0.0.1',
        ],
      ],
      { listens: tcp },
    )
    return { name: 'sish', http: { port: http, host: 'bench' }, tcp, parts: { edge, agent } }
  },
}

function write(dir: string, name: string, text: string): string {
  const file = join(dir, name)
  writeFileSync(file, text)
  return file
}
