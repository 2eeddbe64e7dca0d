import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { TlsEdge, TunnelGroupBackend } from '../../resources/index.ts'
import { startHttpsEdge } from '../testing/https-edge.ts'

const HOST = 'raw.adit.localhost'

/** A TLS edge that ends TLS, with nobody behind it. */
async function start(t: TestContext) {
  const { config, tlsPort, ask } = await startHttpsEdge(t)
  const backend_id = config.create(TunnelGroupBackend, { labels: { app: 'nobody' } })
  config.create(TlsEdge, {
    hostports: [`${HOST}:443`],
    backend: { backend_id },
    tls_termination: { terminate_at: 'edge' },
  })
  await config.applied()
  return { tlsPort, ask }
}

function visit(
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

test('connections that are ended as soon as their handshake is over do no harm', async (t) => {
  const { tlsPort, ask } = await start(t)

  for (let at = 0; at < 200; at++) {
    const options: ConnectionOptions = at % 2 === 0 ? {} : { maxVersion: 'TLSv1.2' }
    await visit(tlsPort, options)
  }

  assert.equal((await ask()).status, 200, 'the process lives')
})

test('visitors that leave as soon as their handshake is over do no harm', async (t) => {
  const { tlsPort, ask } = await start(t)

  for (let at = 0; at < 100; at++)
    await Promise.all([
      visit(tlsPort, {}, (end) => end()),
      visit(tlsPort, { servername: 'shop.adit.localhost' }, (end) => end()),
      visit(tlsPort, { servername: 'shop.adit.localhost' }, (end) => setImmediate(end)),
    ])

  assert.equal((await ask()).status, 200, 'the process lives')
})
