import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { TlsEdge, TunnelGroupBackend } from '../../resources/index.ts'
import { startHttpsEdge } from '../testing/https-edge.ts'

const HOST = 'raw.adit.localhost'

/** A TLS edge that terminates TLS and has no tunnel online. */
async function start(t: TestContext) {
  const { config, tlsPort, sendRequest } = await startHttpsEdge(t)
  const backend_id = config.create(TunnelGroupBackend, { labels: { app: 'nobody' } })
  config.create(TlsEdge, {
    hostports: [`${HOST}:443`],
    backend: { backend_id },
    tls_termination: { terminate_at: 'edge' },
  })
  await config.waitUntilApplied()
  return { tlsPort, sendRequest }
}

function handshake(
  port: number,
  options: ConnectionOptions,
  onSecure?: (end: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: HOST,
      rejectUnauthorized: false,
      ...options,
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    if (onSecure) socket.once('secureConnect', () => onSecure(() => socket.destroy()))
  })
}

test('connections that the edge closes right after their handshake do no harm', async (t) => {
  const { tlsPort, sendRequest } = await start(t)

  for (let n = 0; n < 200; n++) {
    const options: ConnectionOptions = n % 2 === 0 ? {} : { maxVersion: 'TLSv1.2' }
    await handshake(tlsPort, options)
  }

  assert.equal((await sendRequest()).status, 200, 'the process lives')
})

test('clients that disconnect right after their handshake do no harm', async (t) => {
  const { tlsPort, sendRequest } = await start(t)

  for (let n = 0; n < 100; n++)
    await Promise.all([
      handshake(tlsPort, {}, (end) => end()),
      handshake(tlsPort, { servername: 'shop.adit.localhost' }, (end) => end()),
      handshake(tlsPort, { servername: 'shop.adit.localhost' }, (end) => setImmediate(end)),
    ])

  assert.equal((await sendRequest()).status, 200, 'the process lives')
})
