import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer, get as httpsGet, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { TIMEOUT_MS } from './eventually.ts'
import { findFreePorts } from './free-ports.ts'
import { createTempDir } from './temp-dir.ts'
import { createTestCa } from './test-ca.ts'

/** Intercepts a request before it reaches the authority. */
export type Hook = (path: string) => undefined | number | Promise<undefined | number>

/** A real ACME server behind a proxy that counts requests and can fail on demand. */
export interface Pebble {
  /** The directory URL for clients, at the proxy. */
  readonly directory: string
  /** PEM of the root of its HTTPS listener, not of the certificates it issues. */
  readonly ca: string
  /** PEM of the root of the certificates it issues. */
  root(): Promise<string>
  /** The number of successful requests of a kind; requests rejected for a stale nonce do not count. */
  count(what: keyof typeof PATHS): number
  /** Responds with a status instead of forwarding a request, or delays it. */
  hook: Hook | undefined
  /** Adds renewal information to the directory, which Pebble does not offer itself. */
  renewalInfo: ((id: string) => { start: string; end: string }) | undefined
}

export const PATHS = {
  order: '/order-plz',
  finalize: '/finalize-order/',
  challenge: '/chalZ/',
} as const

/** What Pebble needs to know to validate, and how unreliable it is. */
interface PebbleOptions {
  dnsPort: number
  httpPort: number
  rejectNonces?: number
  validitySeconds?: number
  sleepSeconds?: number
}

/** Starts Pebble with these ports for its validations. */
export async function startPebble(t: TestContext, options: PebbleOptions): Promise<Pebble> {
  const dir = createTempDir()
  const ca = await createTestCa()
  const { cert, key } = await ca.issue('localhost', '127.0.0.1')
  writeFileSync(join(dir, 'cert.pem'), cert)
  writeFileSync(join(dir, 'key.pem'), key, { mode: 0o600 })
  const children: ChildProcess[] = []
  t.after(() => Promise.all(children.map(killChild)))
  const start = async () => {
    const ports = [await findFreePorts(1), await findFreePorts(1)] as const
    const child = spawnPebble(dir, ports, options)
    children.push(child)
    return (await waitUntilListening(child, ports[0], ca.caPem)) ? ports : undefined
  }
  // Another program may take a free port before Pebble does.
  const [port, managementPort] = (await start()) ?? (await start()) ?? (await start()) ?? failToStart()

  const counts = new Map<string, number>()
  const pebble: Pebble = {
    directory: '',
    ca: ca.caPem,
    root: () => fetchText(`https://127.0.0.1:${managementPort}/roots/0`, ca.caPem),
    count: (what) => counts.get(what) ?? 0,
    hook: undefined,
    renewalInfo: undefined,
  }
  const proxy = createHttpsServer({ cert, key }, (incoming, outgoing) => {
    void (async () => {
      const path = incoming.url ?? ''
      const status = await pebble.hook?.(path)
      if (status !== undefined) {
        outgoing.writeHead(status, { 'content-type': 'text/plain' }).end('out of order')
        return
      }
      if (path.startsWith('/renewal-info/') && pebble.renewalInfo) {
        const suggestedWindow = pebble.renewalInfo(path.slice('/renewal-info/'.length))
        outgoing
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ suggestedWindow }))
        return
      }
      if (path === '/dir' && pebble.renewalInfo) {
        const directory = JSON.parse(
          await fetchText(`https://127.0.0.1:${port}/dir`, ca.caPem, incoming.headers.host),
        )
        directory.renewalInfo = `https://${incoming.headers.host}/renewal-info`
        outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(directory))
        return
      }
      forward(incoming, outgoing, port, ca.caPem, (status) => {
        for (const [what, prefix] of Object.entries(PATHS))
          if (status < 300 && path.startsWith(prefix)) counts.set(what, (counts.get(what) ?? 0) + 1)
      })
    })().catch(() => outgoing.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const address = proxy.address() as AddressInfo
  return Object.assign(pebble, { directory: `https://localhost:${address.port}/dir` })
}

/** Forwards a request with its original Host, which the server uses for its URLs and to check signatures. */
function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  port: number,
  ca: string,
  onResponse: (status: number) => void,
): void {
  const { method, url, headers } = incoming
  const upstream = httpsRequest({ host: '127.0.0.1', port, method, path: url, headers, ca }, (response) => {
    onResponse(response.statusCode!)
    outgoing.writeHead(response.statusCode!, response.headers)
    response.pipe(outgoing)
  })
  upstream.on('error', () => outgoing.destroy())
  incoming.pipe(upstream)
}

function fetchText(url: string, ca: string, host?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    httpsGet(url, { ca, ...(host ? { headers: { host } } : {}) }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve(text))
    }).on('error', reject)
  })
}

function spawnPebble(
  dir: string,
  [port, managementPort]: readonly [number, number],
  options: PebbleOptions,
): ChildProcess {
  const config = {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      certificate: join(dir, 'cert.pem'),
      privateKey: join(dir, 'key.pem'),
      httpPort: options.httpPort,
      tlsPort: 1,
      ocspResponderURL: '',
      externalAccountBindingRequired: false,
      ...(options.validitySeconds === undefined
        ? {}
        : { certificateValidityPeriod: options.validitySeconds }),
    },
  }
  writeFileSync(join(dir, 'config.json'), JSON.stringify(config))
  return spawn(
    'pebble',
    ['-config', join(dir, 'config.json'), '-dnsserver', `127.0.0.1:${options.dnsPort}`],
    {
      env: {
        ...process.env,
        PEBBLE_AUTHZREUSE: '0',
        PEBBLE_WFE_NONCEREJECT: String(options.rejectNonces ?? 0),
        ...(options.sleepSeconds === undefined
          ? { PEBBLE_VA_NOSLEEP: '1' }
          : { PEBBLE_VA_SLEEPTIME: String(options.sleepSeconds) }),
      },
      stdio: process.env.PEBBLE_LOG ? 'inherit' : 'ignore',
    },
  )
}

async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function failToStart(): never {
  throw new Error('Pebble did not start; is the Debian package pebble installed?')
}

/** True once Pebble answers, false if it has ended. */
async function waitUntilListening(child: ChildProcess, port: number, ca: string): Promise<boolean> {
  const deadline = performance.now() + TIMEOUT_MS
  while (child.exitCode === null) {
    try {
      await fetchText(`https://127.0.0.1:${port}/dir`, ca)
      return true
    } catch (error) {
      if (performance.now() > deadline) throw error
      await delay(20)
    }
  }
  return false
}

/** A plain request with a custom Host header, as a validation sends it. */
export function getWithHost(
  port: number,
  path: string,
  host: string,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode!, body }))
    })
      .on('error', reject)
      .end()
  })
}
