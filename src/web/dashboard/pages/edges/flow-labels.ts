import type { BackendNode, FlowBranch, FlowStep, RequestFlow } from './request-flow.ts'

/** A sentence and the sentences nested under it. */
export interface Sentence {
  readonly text: string
  readonly details: readonly Sentence[]
}

const PROTOCOLS = { https: 'HTTPS', tls: 'TLS', tcp: 'TCP' } as const

/** The text alternative of the flow diagram. */
export function describeFlow(flow: RequestFlow): Sentence[] {
  const entry =
    flow.hostports.length === 0
      ? 'The edge is not reachable: it has no host name or address.'
      : `A visitor connects over ${PROTOCOLS[flow.kind]} to ${orList(flow.hostports)}.`
  const branches = flow.branches.map((branch) => describeBranch(branch, flow))
  const noRoute = { text: 'There is no route yet, so every request gets a 404 response.', details: [] }
  return [
    { text: entry, details: [] },
    ...flow.steps.map(describeStep),
    ...(flow.kind === 'https' && branches.length === 0 ? [noRoute] : branches.flat()),
  ]
}

function describeBranch(branch: FlowBranch, flow: RequestFlow): Sentence[] {
  const backend = describeBackend(branch)
  if (branch.match === undefined) return [backend]
  const paths = branch.match.exact
    ? `the path ${branch.match.text}`
    : `paths that start with ${branch.match.text}`
  const only = flow.branches.length === 1 && branch.match.text === '/' && !branch.match.exact
  return [
    {
      text: only ? 'For every path:' : `For ${paths}:`,
      details: [...branch.steps.map(describeStep), backend],
    },
  ]
}

function describeStep({ title, summary, action, state, reason }: FlowStep): Sentence {
  const settings = summary === '' ? '' : ` (${summary})`
  const text =
    state === 'off'
      ? `${title} is switched off.`
      : state === 'broken'
        ? `${title} cannot run and rejects all traffic: ${reason}.`
        : `${title}${settings} ${action}.`
  return { text, details: [] }
}

function describeBackend({ backend, backendEnabled }: FlowBranch): Sentence {
  if (backend === undefined) return { text: 'No backend is selected.', details: [] }
  if (!backendEnabled) return { text: `The backend ${backend.title} is switched off.`, details: [] }
  return describeBackendNode(backend, 'Backend: ')
}

function describeBackendNode(node: BackendNode, prefix: string): Sentence {
  const { title, summary, kind, ready, children } = node
  const state = kind === 'tunnel_group' ? `; ${describeTunnels(node)}` : ready ? '' : '; unavailable'
  return {
    text: `${prefix}${title} (${summary})${state}.`,
    details: children.map((child) => describeBackendNode(child.node, `${child.label}: `)),
  }
}

function describeTunnels({ online, tunnels }: BackendNode): string {
  if (online === 0) return 'no tunnel is online'
  const addresses = tunnels.map(({ forwards_to }) => forwards_to).join(', ')
  return `${online} online: ${addresses}${online > tunnels.length ? ' and others' : ''}`
}

function orList(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`
}
