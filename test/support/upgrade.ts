import { once } from 'node:events'
import { createServer, request, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { closeFrame } from '../../src/base/http/websocket-frame.ts'
import { webSocketAccept } from '../../src/edge/websocket.ts'
import { type AgentProcess, cleanEnv, startProgram } from './agent-process.ts'
import { startAgent } from './agents.ts'
import { eventually, TIMEOUT_MS } from './eventually.ts'
import { listen } from './local-server.ts'
import { httpPortOf } from './rolling-restart.ts'
import { startServerProcess } from './server-process.ts'
import { requestHost, startLoad } from './steady-load.ts'
import { createTempDir } from './temp-dir.ts'

const HOST = 'app.adit.localhost'

/** A run of `adit server upgrade`. */
export interface Upgrade extends AgentProcess {
  /** Resolves once the new release serves and the former one drains, to the process id of the new one. */
  takenOver(): Promise<number>
}

/** Runs `adit server upgrade` beside a server. The new release ends with the test. */
export function startUpgrade(t: TestContext, dataDir: string, args: readonly string[] = []): Upgrade {
  const command = ['server', 'upgrade', '--data-dir', dataDir, ...args]
  const program = startProgram(t, command, { env: cleanEnv(dataDir) })
  return Object.assign(program, {
    async takenOver() {
      await program.until(({ stdout }) => /\(process \d+\)/.test(stdout))
      const pid = Number(/\(process (\d+)\)/.exec(program.stdout)?.[1])
      t.after(() => killIfRunning(pid))
      return pid
    },
  })
}

/** A release that was replaced by another has ended already. */
function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

interface LoadedServerOptions {
  readonly perSecond: number
  readonly workers?: number
  readonly flags?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** A server with an agent whose service gets requests at a steady rate. */
export async function startLoadedServer(
  t: TestContext,
  { perSecond, workers = 1, flags = [], environment = {} }: LoadedServerOptions,
) {
  const dataDir = createTempDir()
  const serverFlags = ['--workers', String(workers), ...flags]
  const server = await startServerProcess(t, dataDir, serverFlags, { environment })
  const service = await startService(t)
  const agent = await startAgent(t, server, server.authtoken)
  await agent.forward({ addr: service.port, url: `http://${HOST}` })
  const port = httpPortOf(server)
  const load = startLoad(t, { host: HOST, perSecond, ports: () => [port], timeoutMs: TIMEOUT_MS })
  return { dataDir, server, service, agent, port, load }
}

/** An HTTP service that holds requests for `/wait`, takes uploads and speaks WebSocket. */
async function startService(t: TestContext) {
  const held: ServerResponse[] = []
  const service = { port: 0, held, uploaded: 0, webSockets: 0 }
  const server = createServer(async (incoming, response) => {
    if (incoming.url === '/wait') {
      held.push(response)
      return
    }
    for await (const chunk of incoming) service.uploaded += chunk.length
    response.end('served')
  })
  server.on('upgrade', ({ headers }, socket: Socket) => {
    service.webSockets++
    const accept = webSocketAccept(String(headers['sec-websocket-key']))
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    // The only thing that its client sends is a close frame.
    socket.once('data', () => socket.end(closeFrame(1001)))
  })
  service.port = await listen(t, server)
  return service
}

/** A slow request, an upload and a WebSocket that are under way. */
export interface WorkUnderWay {
  /** Lets the request and the upload end; resolves to their status, and to that with which the WebSocket was closed. */
  finish(): Promise<{ slow: string; upload: number; webSocket: number }>
}

/** Starts one of each, and resolves once all have reached the service. */
export async function startWork(
  port: number,
  service: Awaited<ReturnType<typeof startService>>,
): Promise<WorkUnderWay> {
  const { uploaded, webSockets } = service
  const options = { host: '127.0.0.1', port, agent: false, headers: { Host: `${HOST}:${port}` } }
  // It waits for the start of the new release too.
  const slow = requestHost(port, HOST, { path: '/wait', timeoutMs: 2 * TIMEOUT_MS })
  const upload = request({ ...options, method: 'PUT' })
  upload.write('first half, ')
  const webSocket = openWebSocket(options)
  await eventually(
    () => service.held.length === 1 && service.uploaded > uploaded && service.webSockets > webSockets,
  )
  return {
    async finish() {
      const closeStatus = await webSocket
      for (const response of service.held.splice(0)) response.end('served')
      upload.end('second half')
      const [{ statusCode }] = await once(upload, 'response')
      return { slow: await slow, upload: Number(statusCode), webSocket: closeStatus }
    },
  }
}

/** Opens a WebSocket that is never written to; resolves to the status with which the server closes it. */
async function openWebSocket(options: { host: string; port: number; headers: Record<string, string> }) {
  const outgoing = request({
    ...options,
    headers: {
      ...options.headers,
      ...{ Connection: 'Upgrade', Upgrade: 'websocket' },
      ...{ 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' },
    },
  }).end()
  const [, socket, head] = (await once(outgoing, 'upgrade')) as [unknown, Socket, Buffer]
  const frame = head.length > 0 ? head : ((await once(socket, 'data'))[0] as Buffer)
  // A client masks its frames; a mask of zeros changes nothing.
  const [first, , ...status] = frame
  socket.end(Buffer.from([first!, 0x82, 0, 0, 0, 0, ...status]))
  return frame.readUInt16BE(2)
}
