import { stringify } from 'yaml'
import type { ApiFlags } from '../api-cli/index.ts'
import { CommandFailure } from '../base/process/command-line.ts'
import type { Output } from '../command-line/index.ts'
import { edgePolicy } from './edge-policy.ts'

const PATHS: Readonly<Record<string, string>> = {
  edghts: '/edges/https',
  edgtcp: '/edges/tcp',
  edgtls: '/edges/tls',
}

/** `adit policy from-edge ID`: prints the policy that does what the modules of the edge do. */
export async function printEdgePolicy(id: string, flags: ApiFlags, terminal: Output): Promise<number> {
  const path = PATHS[id.slice(0, id.indexOf('_'))]
  if (path === undefined)
    throw new CommandFailure(
      `"${id}" is not the id of an edge, such as edghts_…; "adit api edges-https list" shows them`,
    )
  const { callApi } = await import('../api-cli/call.ts')
  const edge = (await callApi(`${path}/${encodeURIComponent(id)}`, flags)) as Parameters<typeof edgePolicy>[0]
  const { phases, notes } = edgePolicy(edge)
  const comments = notes.map((note) => `# ${note}\n`).join('')
  terminal.out(`${comments}${stringify(phases, { lineWidth: 0 })}`)
  return 0
}
