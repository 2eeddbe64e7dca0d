import type { Candidate } from './candidates.ts'
import type { Link } from './link.ts'
import { findFreePort } from './processes.ts'
import type { BenchUpstream } from './upstream.ts'

/** What a tunnel needs to start. */
export interface Setting {
  /** A directory for its files. */
  readonly dir: string
  readonly upstream: BenchUpstream
  readonly link: Link
}

/** One service of the upstream, and the public port at which a tunnel is to offer it. */
export interface Forward {
  readonly service: keyof BenchUpstream
  readonly local: number
  readonly remote: number
}

/** A public port for every service of the upstream. */
export async function chooseForwards(upstream: BenchUpstream): Promise<Forward[]> {
  const services = Object.entries(upstream) as [keyof BenchUpstream, number][]
  return Promise.all(
    services.map(async ([service, local]) => ({ service, local, remote: await findFreePort() })),
  )
}

/** The candidate that offers these forwards on ports of their own. */
export function describePortTunnel(
  name: string,
  forwards: readonly Forward[],
  parts: Candidate['parts'],
): Candidate {
  const port = (service: keyof BenchUpstream) =>
    forwards.find((forward) => forward.service === service)?.remote
  const [http, tcp, http2] = [port('http'), port('tcp'), port('http2')]
  return {
    name,
    ...(http !== undefined && { http: { port: http, host: 'bench' } }),
    ...(tcp !== undefined && { tcp }),
    ...(http2 !== undefined && { http2: { port: http2, host: 'localhost' } }),
    parts,
  }
}
