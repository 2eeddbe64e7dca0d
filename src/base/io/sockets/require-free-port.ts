import { createServer } from 'node:net'

/**
 * Binds a port once without sharing it, unless it is "any". Another server of the same user that shares its ports among
 * its own workers would otherwise silently get half of the connections.
 */
export async function requireFreePort(
  address: { readonly host: string; readonly port: number } | undefined,
): Promise<void> {
  if (address === undefined || address.port === 0) return
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...address, exclusive: true }, () => server.close(() => resolve()))
  })
}
