import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Candidate } from '../candidates.ts'
import { chooseForwards, describePortTunnel, type Setting } from '../forwards.ts'
import { findFreePort, startProgram } from '../processes.ts'

/** The settings of the link at either end. */
interface Transport {
  readonly server: string
  readonly client: string
}

/** Over plain TCP. */
export function startRathole(setting: Setting): Promise<Candidate> {
  return startWith(setting, 'rathole', { server: '', client: '' })
}

/** Over the Noise protocol, rathole's own way to encrypt. */
export function startRatholeNoise(setting: Setting): Promise<Candidate> {
  const keys = execFileSync('rathole', ['--genkey'], { encoding: 'utf8' })
  const [privateKey, publicKey] = ['Private', 'Public'].map(
    (kind) => new RegExp(`${kind} Key:\\s+(\\S+)`).exec(keys)![1],
  )
  const noise = (end: string, key: string) =>
    `[${end}.transport]\ntype = "noise"\n[${end}.transport.noise]\n${key}\n`
  return startWith(setting, 'rathole noise', {
    server: noise('server', `local_private_key = "${privateKey}"`),
    client: noise('client', `remote_public_key = "${publicKey}"`),
  })
}

async function startWith({ dir, upstream, link }: Setting, name: string, transport: Transport) {
  const [port, forwards] = [await findFreePort(), await chooseForwards(upstream)]
  const write = (end: string, text: string) => {
    const file = join(dir, `${name.replace(' ', '-')}-${end}.toml`)
    writeFileSync(file, text)
    return file
  }
  const services = (end: string, key: string, portOf: (forward: (typeof forwards)[number]) => number) =>
    forwards
      .map(
        (forward) =>
          `[${end}.services.${forward.service}]\ntoken = "bench"\n${key} = "127.0.0.1:${portOf(forward)}"\n`,
      )
      .join('')
  const serverFile = write(
    'server',
    `[server]\nbind_addr = "${link.listenHost}:${port}"\n${transport.server}${services('server', 'bind_addr', ({ remote }) => remote)}`,
  )
  const clientFile = write(
    'client',
    `[client]\nremote_addr = "${link.dialHost}:${port}"\n${transport.client}${services('client', 'local_addr', ({ local }) => local)}`,
  )
  const edge = await startProgram('rathole', ['--server', serverFile], {
    listens: port,
    host: link.listenHost,
  })
  await link.expose(port)
  // A service's port opens only after the client has connected.
  const agent = await link.startRemote('rathole', ['--client', clientFile], {
    listens: forwards.at(-1)!.remote,
  })
  return describePortTunnel(name, forwards, { edge, agent })
}
