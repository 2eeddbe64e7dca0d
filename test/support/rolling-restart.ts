import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { portOf, startAgent } from './agents.ts'
import { createClient } from './api.ts'
import { eventually } from './eventually.ts'
import { createTestDatabase } from './postgres.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'
import { requestHost, startLoad } from './steady-load.ts'
import { createTempDir } from './temp-dir.ts'

/** Server processes on one database, by default one of their own, each of which can be restarted. */
export async function startNodes(
  t: TestContext,
  count: number,
  urlOf?: (index: number) => string,
  moreFlags: readonly string[] = [],
) {
  const dirs = Array.from({ length: count }, createTempDir)
  const { url } = urlOf === undefined ? await createTestDatabase(t) : { url: '' }
  const nodes: ServerProcess[] = []
  const start = async (index: number) => {
    const urlFile = join(createTempDir(), 'database-url')
    writeFileSync(urlFile, urlOf?.(index) ?? url, { mode: 0o600 })
    const flags = ['--database-url-file', urlFile, '--master-key-file', join(dirs[0]!, 'master.key')]
    nodes[index] = await startServerProcess(t, dirs[index]!, [...flags, ...moreFlags])
  }
  for (const index of dirs.keys()) await start(index)
  return { nodes, start }
}

/** The port of a server's plain HTTP listener. */
export function httpPortOf({ credentials }: Pick<ServerProcess, 'credentials'>): number {
  return portOf(new URL(credentials.http_url).host)
}

/** An agent whose home is this server, with all its legs open. */
export async function startLeggedAgent(
  t: TestContext,
  server: ServerProcess,
  { upstream, host }: { readonly upstream: number; readonly host: string },
) {
  const agent = await startAgent(t, server, server.authtoken)
  await agent.forward({ addr: upstream, url: `http://${host}` })
  const call = createClient(server.url, server.apiKey)
  await eventually(async () => {
    await requestHost(httpPortOf(server), host)
    const { body } = await call('GET', '/tunnel_sessions')
    return body.tunnel_sessions[0]?.legs.length >= 4
  })
  return agent
}

/** Restarts one node after the other under load; resolves to what became of the requests, and to the exit codes. */
export async function restartInTurn(
  t: TestContext,
  { nodes, start }: Awaited<ReturnType<typeof startNodes>>,
  { host, perSecond, pause }: { host: string; perSecond: number; pause(): Promise<void> },
) {
  const load = startLoad(t, { host, perSecond, ports: () => nodes.map(httpPortOf) })
  const exitCodes: (number | null)[] = []
  for (const index of nodes.keys()) {
    await pause()
    exitCodes.push(await nodes[index]!.stop())
    await pause()
    await start(index)
  }
  await pause()
  return { ...(await load.stop()), exitCodes }
}
