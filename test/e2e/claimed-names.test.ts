import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import ngrok from '@ngrok/ngrok'
import { eventuallyEqual } from '../support/eventually.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'

/** Connects the official SDK with an endpoint at the domain. */
async function serve(t: TestContext, { credentials }: TestPlatform, domain: string) {
  const server = createServer((_request, response) => response.end('agent')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const builder = new ngrok.SessionBuilder()
  builder.authtoken(credentials.authtoken).serverAddr(credentials.agent_addr).rootCas(credentials.ca_file)
  const session = await builder.connect()
  t.after(() => session.close())
  const endpoint = session.httpEndpoint().domain(domain)
  await endpoint.listenAndForward(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

test('a tunnel ends when an edge claims its name, even an edge of its own account', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  for (const name of ['edged', 'other']) {
    await call.create('/reserved_domains', { domain: `${name}.adit.localhost` })
    await serve(t, platform, `${name}.adit.localhost`)
  }
  const online = async () => {
    const { tunnels } = (await call('GET', '/tunnels')).body as { tunnels: { public_url: string }[] }
    const names = tunnels.map(({ public_url }) => new URL(public_url).hostname.split('.')[0])
    return names.sort().join()
  }
  await eventuallyEqual(online, 'edged,other', 'both are online')

  await call.create('/edges/https', { hostports: ['edged.adit.localhost:443'] })

  await eventuallyEqual(online, 'other', 'one of them is')
})
