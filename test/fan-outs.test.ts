import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { duplexPair } from 'node:stream'
import { type TestContext, test } from 'node:test'
import fastify from 'fastify'
import type { ClientChannel } from 'ssh2'
import { CaptureStore } from '../src/agent/inspector/capture-store.ts'
import { startAgent } from '../src/agent/testing/agent.ts'
import { TestGateway } from '../src/agent/testing/gateway.ts'
import { TimerEntry, TimerWheel } from '../src/base/io/memory/timer-wheel.ts'
import { WindowBudget } from '../src/base/io/memory/window-budget.ts'
import { FlushScheduler } from '../src/base/io/streams/flush-scheduler.ts'
import { silentSink } from '../src/base/io/streams/stream.ts'
import { fanOut } from '../src/base/limits/fan-out.ts'
import { silentLog } from '../src/base/process/log.ts'
import { systemClock } from '../src/base/values/clock.ts'
import { Inventory } from '../src/certs/acme/inventory.ts'
import { RegistryPublisher } from '../src/cluster/registry-publisher.ts'
import { session } from '../src/cluster/testing/node.ts'
import { PeerStream } from '../src/cluster/wire.ts'
import { type LiveSources, mountLive } from '../src/dashboard/views/live.ts'
import { combineObservers } from '../src/edge/contracts/combine-observers.ts'
import { Http1ServerConnection } from '../src/edge/http/http1-connection.ts'
import type { Observer } from '../src/edge/index.ts'
import { startEdge } from '../src/edge/testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../src/edge/testing/tunnels.ts'
import { Http1Upstream } from '../src/edge/upstream/http1.ts'
import { call, MuxSession, MuxStream, typeBytes } from '../src/protocol/index.ts'
import { AgentConnection } from '../src/sessions/gateway/agent-connection.ts'
import { Registry } from '../src/sessions/index.ts'
import { Channels } from '../src/sessions/ssh/channels.ts'
import { SshConnection } from '../src/sessions/ssh/ssh-connection.ts'
import { connectSsh2Client } from './ssh/openssh.ts'
import { portOf, startAgent as startPlatformAgent } from './support/agents.ts'
import { startHttp } from './support/local-server.ts'
import { startPlatform } from './support/platform.ts'
import { openRawClient } from './support/raw-client.ts'

/** The methods that fail are those of this process. */
const ONE_PROCESS = ['--workers', '1']

const HOST = 'app.adit.localhost'

/**
 * Every fan-out to several receivers. Each entry registers the receivers and triggers one notification
 * of each.
 */
const fanOuts: Record<string, (t: TestContext, receivers: readonly (() => void)[]) => void | Promise<void>> =
  {
    'the fan-out itself': (_t, receivers) =>
      fanOut(
        receivers,
        (receiver) => receiver(),
        () => {},
      ),

    'observers of finished requests': (_t, receivers) => {
      combineObservers(silentLog, ...receivers.map(observer)).onRequest({ accountId: 'ac' } as never)
    },

    'observers of finished connections': (_t, receivers) => {
      combineObservers(silentLog, ...receivers.map(observer)).onConnection({ accountId: 'ac' } as never)
    },

    'subscribers of the registry': (_t, receivers) => {
      const ports = { acquire: async (port = 1) => port, release() {} }
      const registry = new Registry({ ports, onSubscriberError() {} })
      for (const receiver of receivers) registry.subscribe(receiver)
      registry.addSession(session('ts_1'))
    },

    'timers with the same deadline': (_t, receivers) => {
      let now = 0
      const deadlines = new TimerWheel({ now: () => now, monotonic: () => now }, 100, () => {})
      for (const receiver of receivers) deadlines.set(new (createTimerEntry(receiver))(), 1)
      now += 100
      deadlines.advance()
    },

    'writers flushed together': async (_t, receivers) => {
      const scheduler = new FlushScheduler(() => {})
      for (const flush of receivers) scheduler.schedule({ flush })
      await new Promise(setImmediate)
    },

    'listeners to the certificate inventory': (_t, receivers) => {
      const inventory = new Inventory('adit.test', silentLog)
      for (const receiver of receivers) inventory.onChange(receiver)
      inventory.change([])
    },

    'listeners to certificate records': (_t, receivers) => {
      const inventory = new Inventory('adit.test', silentLog)
      for (const receiver of receivers) inventory.onRecords(receiver)
      inventory.reset([], 1)
    },

    'listeners to captures': (_t, receivers) => {
      const store = new CaptureStore(1e6, [], () => {})
      for (const receiver of receivers) store.follow(() => {}, receiver)
      store.clear()
    },

    'listeners to the agent': async (t, receivers) => {
      const { agent, ended: exited } = startAgent(t, await TestGateway.start(t))
      const called = new Promise<void>((resolve) => agent.follow(resolve))
      const stops = receivers.map((receiver) => {
        const stop = agent.follow(() => {
          stop()
          receiver()
        })
        return stop
      })
      await Promise.race([called, exited])
      for (const stop of stops) stop()
    },

    'clients of requests whose observer fails': async (t, receivers) => {
      const [first, failing, last] = receivers
      const observe = observer(() => {
        first!()
        failing!()
      })
      const upstream = await startHttp(t, (_request, response) => response.end('hello'))
      const tunnels = new TestTunnels().add('app.adit.localhost', createLocalTunnel(upstream))
      const { port } = await startEdge(t, tunnels, {}, { observe })
      const request = 'GET / HTTP/1.1\r\nHost: app.adit.localhost\r\n\r\n'
      await openRawClient(t, port).write(request).untilText('hello')
      await openRawClient(t, port).write(request).untilText('hello')
      last!()
    },

    'connections that an edge revalidates': async (t, receivers) => {
      const { edge } = await startBusyEdge(t, receivers.length)
      const calls = hookMethod(t, Http1ServerConnection.prototype, 'revalidate', receivers)
      edge.follower.change([])
      await calls
    },

    'connections that an edge drains': async (t, receivers) => {
      const { edge } = await startBusyEdge(t, receivers.length)
      const calls = hookMethod(t, Http1ServerConnection.prototype, 'drain', receivers)
      await Promise.all([edge.stop(), calls])
    },

    'connections that an edge destroys': async (t, receivers) => {
      // A connection with a request in flight outlives the drain.
      const { edge } = await startBusyEdge(t, receivers.length, 'half')
      const calls = hookMethod(t, Http1ServerConnection.prototype, 'destroy', receivers)
      await Promise.all([edge.stop(), calls])
    },

    'idle upstream connections of a stopping edge': async (t, receivers) => {
      const { edge } = await startBusyEdge(t, receivers.length)
      const calls = hookMethod(t, Http1Upstream.prototype, 'close', receivers)
      await Promise.all([edge.stop(), calls])
    },

    'SSH channels of a lost connection': (_t, receivers) => {
      const { channels } = startChannels()
      for (const onClose of receivers) openChannel(channels).sink = { ...silentSink, onClose }
      channels.close(new Error('The connection is gone.'))
    },

    'SSH channels that wait for drain': (_t, receivers) => {
      const { channels, socket } = startChannels()
      for (const receiver of receivers) {
        const channel = openChannel(channels)
        channel.flush = receiver
        channels.wait(channel)
      }
      socket.emit('drain')
    },

    'terminals of an SSH client': async (t, receivers) => {
      const platform = await startPlatform(t, ONE_PROCESS)
      const client = await connectSsh2Client(t, platform)
      const shells: ClientChannel[] = []
      for (const _ of receivers)
        shells.push(await new Promise((resolve) => client.shell(false, (_error, shell) => resolve(shell))))
      // ssh2 has one channel class for both sides; only server channels send an exit status.
      const calls = hookMethod(t, Object.getPrototypeOf(shells[0]), 'exit', receivers)
      const [{ id }] = (await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions
      await platform.call('POST', `/tunnel_sessions/${id}/stop`, { body: {} })
      await calls
    },

    'periodic ticks of SSH connections': async (t, receivers) => {
      const { credentials } = await startPlatform(t, ONE_PROCESS)
      await openSilentConnections(t, credentials.ssh_addr, receivers.length)
      await hookMethod(t, SshConnection.prototype, 'tick', receivers)
    },

    'SSH clients of a stopping server': async (t, receivers) => {
      const platform = await startPlatform(t, ONE_PROCESS)
      await openSilentConnections(t, platform.credentials.ssh_addr, receivers.length)
      const calls = hookMethod(t, SshConnection.prototype, 'end', receivers)
      await Promise.all([platform.stop(), calls])
    },

    'agents of a stopping server': async (t, receivers) => {
      const platform = await startPlatform(t, ONE_PROCESS)
      for (const _ of receivers) await startPlatformAgent(t, platform)
      const calls = hookMethod(t, AgentConnection.prototype, 'end', receivers)
      await Promise.all([platform.stop(), calls])
    },

    'nodes that watch a registry': async (t, receivers) => {
      const { publisher } = await startPublisher(t, receivers.length)
      const calls = hookMethod(t, MuxStream.prototype, 'write', receivers)
      publisher.onLiveEvent({ type: 'session_started', session: session('ts_1') })
      // Later writes of the nodes are not counted.
      t.mock.reset()
      await calls
    },

    'links to a stopping peer': async (t, receivers) => {
      const { publisher } = await startPublisher(t, receivers.length)
      const calls = hookMethod(t, MuxSession.prototype, 'close', receivers)
      publisher.close()
      await calls
    },

    'live views': async (t, receivers) => {
      const accounts = new Map(receivers.map((receiver, index) => [`ac_${index}`, receiver]))
      let counting = false
      const http = fastify()
      mountLive(http, {
        authenticate: async (request) => {
          request.principal = { accountId: String(request.headers.account) } as never
        },
        sources: {
          traffic: {
            totals(accountId) {
              if (counting) accounts.get(accountId)!()
              return {} as never
            },
          },
          scopes: { countsOf: () => [], brokenIn: () => [] },
          online: { sessionsOf: () => [], tunnelsOf: () => [], revisionOf: () => 0 },
          changes: { revisionOf: () => 0, lastDeletion: () => 0 } as never,
        } satisfies LiveSources,
        log: silentLog,
      })
      t.after(() => http.close())
      const url = await http.listen({ host: '127.0.0.1', port: 0 })
      const views = []
      for (const account of accounts.keys()) {
        const { body } = await fetch(`${url}/dashboard/api/live`, { headers: { account } })
        const reader = body!.getReader()
        await reader.read()
        views.push(reader)
      }
      counting = true
      await views.at(-1)!.read()
      for (const view of views) await view.cancel()
    },
  }

for (const [title, notify] of Object.entries(fanOuts)) {
  test(`a receiver that throws does not keep the others from being notified: ${title}`, async (t) => {
    const called: string[] = []

    await notify(t, [
      () => void called.push('first'),
      () => {
        called.push('failing')
        throw new Error('This receiver always fails.')
      },
      () => void called.push('last'),
    ])

    assert.deepEqual([...new Set(called)], ['first', 'failing', 'last'])
  })
}

function observer(onEvent: () => void): Observer {
  return {
    wantsRequests: () => true,
    onRequest: onEvent,
    wantsConnections: () => true,
    onConnection: onEvent,
  }
}

function createTimerEntry(onDeadline: () => void) {
  return class extends TimerEntry {
    onDeadline(): void {
      onDeadline()
    }
  }
}

/** Assigns a receiver to each object the method is called on and calls it afterwards; resolves once all are assigned. */
function hookMethod<T extends object>(
  t: TestContext,
  prototype: T,
  method: keyof T & string,
  receivers: readonly (() => void)[],
): Promise<void> {
  const receiverOf = new Map<T, (() => void) | undefined>()
  const { promise, resolve } = Promise.withResolvers<void>()
  const original = prototype[method] as (...args: unknown[]) => unknown
  t.mock.method(
    prototype,
    method as never,
    function (this: T, ...args: unknown[]) {
      const result = original.apply(this, args)
      if (!receiverOf.has(this)) receiverOf.set(this, receivers[receiverOf.size])
      if (receiverOf.size === receivers.length) resolve()
      receiverOf.get(this)?.()
      return result
    } as never,
  )
  return promise
}

/** Starts an edge with this many client connections, idle after a response or with half a request sent. */
async function startBusyEdge(t: TestContext, clientCount: number, state: 'answered' | 'half' = 'answered') {
  const pendingResponses: (() => void)[] = []
  const upstream = await startHttp(t, (_request, response) => {
    pendingResponses.push(() => response.end('hello'))
    // Answered together, so that each request needs its own upstream connection.
    if (pendingResponses.length === clientCount) for (const respond of pendingResponses) respond()
  })
  const tunnels = new TestTunnels().add(HOST, createLocalTunnel(upstream))
  const { edge, port } = await startEdge(t, tunnels)
  const clients = Array.from({ length: clientCount }, () =>
    openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`),
  )
  for (const client of clients) await client.untilText('hello')
  if (state === 'half') for (const client of clients) client.write('GET / HTTP/1.1\r\n')
  return { edge }
}

/** Creates the channels of a connection that is never congested. */
function startChannels() {
  const client = Object.assign(new EventEmitter(), {
    _protocol: { _handlers: {}, _kexinit: undefined, forwardedTcpip() {} },
  })
  const socket = Object.assign(new EventEmitter(), { writableLength: 0, cork() {}, uncork() {} })
  return { channels: new Channels(client as never, socket as never, undefined, () => {}), socket }
}

function openChannel(channels: Channels) {
  return channels.open({ boundAddr: '', boundPort: 80, remoteAddr: '192.0.2.1', remotePort: 1 })
}

/** Opens connections that send nothing, and waits for the server's greeting on each. */
async function openSilentConnections(t: TestContext, address: string, count: number): Promise<void> {
  for (let remaining = count; remaining > 0; remaining--) {
    const socket = connect(portOf(address), '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'data')
  }
}

/** Starts a registry publisher with this many watching nodes. */
async function startPublisher(t: TestContext, watchers: number) {
  const secret = Buffer.alloc(32, 7)
  const publisher = new RegistryPublisher({
    id: 'nd_1',
    silenceMs: 60_000,
    secret,
    windows: new WindowBudget(),
    clock: systemClock,
    log: silentLog,
    tunnelsIn: () => [],
  })
  for (let remaining = watchers; remaining > 0; remaining--) {
    const [local, remote] = duplexPair()
    publisher.serve(remote, () => {})
    const link = new MuxSession(local, { role: 'client', onStream() {}, onClose() {} })
    t.after(() => link.destroy())
    await call(link, PeerStream.Hello, { secret: secret.toString('base64') }, 5000)
    const stream = link.open(typeBytes(PeerStream.Watch))
    await new Promise<void>((resolve) => {
      stream.sink = { ...silentSink, onData: () => resolve() }
    })
  }
  return { publisher }
}
