import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { limitUnsentBytes } from '../src/base/io/sockets/unsent-limit.ts'
import { startAgent, startServer } from './tunnel/platform.ts'
import {
  findFreePort,
  hasProgram,
  residentKib,
  startProgram,
  stopAll,
  withPrograms,
} from './tunnel/processes.ts'
import { startNginx } from './tunnel/upstream.ts'

/**
 * Prints what a visitor gets while others of the same tunnel do not read, and what these hold: `npm run bench:slow-visitors`.
 * The visitors have a network namespace of their own. Needs root, python3 and nginx; frp is measured when it is installed.
 */

const VISITORS = 1000
const REQUESTS = 500
const NAMESPACE = 'adit-bench-visitors'
/** RFC 2544 reserves 198.18.0.0/15 for benchmarks. */
const [VISITOR_ADDRESS, SERVER_ADDRESS] = ['198.18.1.1', '198.18.1.2']
const SCRIPT = join(import.meta.dirname, 'slow-visitors.py')
const LARGE = 100 * 1024 * 1024

/** One way to the service. */
interface Candidate {
  readonly port: number
  readonly host: string
  /** Its process groups. */
  readonly parts: readonly number[]
}

const candidates: Readonly<Record<string, (dir: string, upstream: number) => Promise<Candidate>>> = {
  async 'nginx, unbuffered'(dir, upstream) {
    const port = await findFreePort()
    const server = `listen ${SERVER_ADDRESS}:${port}; location / { proxy_pass http://127.0.0.1:${upstream}; proxy_buffering off; }`
    return { port, host: 'bench', parts: [await startNginx(dir, 'slow', port, server)] }
  },
  async frp(dir, upstream) {
    const [port, vhost] = [await findFreePort(), await findFreePort()]
    const [server, client] = [join(dir, 'frps.toml'), join(dir, 'frpc.toml')]
    writeFileSync(
      server,
      `bindPort = ${port}\nproxyBindAddr = "${SERVER_ADDRESS}"\nvhostHTTPPort = ${vhost}\n`,
    )
    writeFileSync(
      client,
      `serverAddr = "127.0.0.1"\nserverPort = ${port}\n[[proxies]]\nname = "web"\ntype = "http"\nlocalPort = ${upstream}\ncustomDomains = ["frp.bench"]\n`,
    )
    const edge = await startProgram('frps', ['-c', server], { listens: port })
    const agent = await startProgram('frpc', ['-c', client], { prints: /start proxy success/ })
    return { port: vhost, host: 'frp.bench', parts: [edge, agent] }
  },
  async Adit(dir, upstream) {
    const platform = await startServer(dir, ['--http-addr', `${SERVER_ADDRESS}:0`])
    const url = 'http://slow.adit.localhost'
    const agent = await startAgent(platform, dir, {
      slow: { proto: 'http', addr: upstream, url, inspect: false },
    })
    return {
      port: platform.port,
      host: `slow.adit.localhost:${platform.port}`,
      parts: [platform.edge, agent],
    }
  },
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })

function openNamespace(): void {
  closeNamespace() // A run that was killed leaves it behind.
  ip('netns', 'add', NAMESPACE)
  ip('link', 'add', 'adit-bench0', 'type', 'veth', 'peer', 'name', 'adit-bench1', 'netns', NAMESPACE)
  ip('address', 'add', `${SERVER_ADDRESS}/30`, 'dev', 'adit-bench0')
  ip('link', 'set', 'adit-bench0', 'up')
  ip('-n', NAMESPACE, 'address', 'add', `${VISITOR_ADDRESS}/30`, 'dev', 'adit-bench1')
  ip('-n', NAMESPACE, 'link', 'set', 'adit-bench1', 'up')
}

function closeNamespace(): void {
  for (const args of [
    ['netns', 'delete', NAMESPACE],
    ['link', 'delete', 'adit-bench0'],
  ])
    try {
      ip(...args)
    } catch {
      // It does not exist.
    }
}

const visitorCommand = (mode: string, { port, host }: Candidate, count: number) =>
  ['netns', 'exec', NAMESPACE, 'python3', SCRIPT, mode, SERVER_ADDRESS, port, host, count].map(String)

/** Times of requests in milliseconds; null for one that was not answered within two seconds. */
async function ask(candidate: Candidate): Promise<(number | null)[]> {
  const { stdout } = await promisify(execFile)('ip', visitorCommand('ask', candidate, REQUESTS))
  return JSON.parse(stdout)
}

/** MiB that all TCP connections of the machine hold in the kernel. */
function kernelMiB(): number {
  const pages = /^TCP:.* mem (\d+)/m.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1]
  return (Number(pages) * 4096) / 1024 ** 2
}

function describe(times: readonly (number | null)[]): string {
  const answered = times.filter((time) => time !== null).sort((a, b) => a - b)
  const at = (share: number) => answered[Math.floor(answered.length * share)]?.toFixed(1) ?? '–'
  return `${at(0.5)} / ${at(0.99)} ms, ${times.length - answered.length} timed out`
}

async function measure(name: string, start: (typeof candidates)[string], upstream: number): Promise<void> {
  await withPrograms(async (dir) => {
    const candidate = await start(dir, upstream)
    const residentMiB = () => candidate.parts.reduce((sum, part) => sum + residentKib(part), 0) / 1024
    await ask(candidate)
    const alone = await ask(candidate)
    const before = { kernel: kernelMiB(), resident: residentMiB() }
    await startProgram('ip', visitorCommand('stall', candidate, VISITORS), { prints: /stalled/ })
    const beside = await ask(candidate)
    const kernel = (kernelMiB() - before.kernel).toFixed(0)
    const resident = (residentMiB() - before.resident).toFixed(0)
    console.log(`| ${name} | ${describe(alone)} | ${describe(beside)} | ${kernel} MiB | ${resident} MiB |`)
    await stopAll()
  })
}

const chunk = Buffer.alloc(64 * 1024, 'x')
const service = createServer((request, response) => {
  if (request.url !== '/large') {
    response.end('small')
    return
  }
  response.setHeader('Content-Length', LARGE)
  let left = LARGE / chunk.length
  const write = () => {
    while (left-- > 0) if (!response.write(chunk)) return void response.once('drain', write)
    response.end()
  }
  write()
}).listen(0, '127.0.0.1')
await once(service, 'listening')
// Otherwise most of what the kernel holds is what the service has written ahead, whatever is in front of it.
if (!process.argv.includes('--service-writes-ahead')) limitUnsentBytes(service)
openNamespace()
try {
  console.log('| | alone | beside them | kernel | processes |\n|---|---|---|---|---|')
  for (const [name, start] of Object.entries(candidates)) {
    if (name === 'frp' && !(hasProgram('frps') && hasProgram('frpc')))
      console.error('frp skipped: not on the PATH')
    else await measure(name, start, (service.address() as AddressInfo).port)
  }
} finally {
  closeNamespace()
  service.close().closeAllConnections()
}
