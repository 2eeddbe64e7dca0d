import type { BackendNode, FlowBranch, FlowStep, RequestFlow } from './request-flow.ts'

/** A sentence with those that belong under it. */
export interface Sentence {
  readonly text: string
  readonly details: readonly Sentence[]
}

const PROTOCOLS = { https: 'https', tls: 'TLS', tcp: 'TCP' } as const

/** The picture in words, for whoever cannot see it or would rather read. */
export function describeFlow(flow: RequestFlow): Sentence[] {
  const entry =
    flow.hostports.length === 0
      ? 'Nobody can come in yet: the edge has no host name or address.'
      : `A visitor comes with ${PROTOCOLS[flow.kind]} to ${orList(flow.hostports)}.`
  const branches = flow.branches.map((branch) => describeBranch(branch, flow))
  const noRoute = { text: 'There is no route yet, so every request is answered with 404.', details: [] }
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
    : `paths that begin with ${branch.match.text}`
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
        ? `${title} cannot do its work, so nobody gets past it: ${reason}.`
        : `${title}${settings} ${action}.`
  return { text, details: [] }
}

function describeBackend({ backend, backendEnabled }: FlowBranch): Sentence {
  if (backend === undefined) return { text: 'Nobody answers: no backend is chosen.', details: [] }
  if (!backendEnabled)
    return { text: `Nobody answers: the backend ${backend.title} is switched off.`, details: [] }
  return describeBackendNode(backend, '')
}

function describeBackendNode(node: BackendNode, prefix: string): Sentence {
  const { title, summary, kind, tunnels, ready, children } = node
  const online =
    kind === 'tunnel_group'
      ? `; ${tunnels.length === 0 ? 'no tunnel is online' : `${tunnels.length} online: ${tunnels.map(({ forwards_to }) => forwards_to).join(', ')}`}`
      : ready
        ? ''
        : '; nobody would answer now'
  return {
    text: `${prefix}${title} (${summary}) answers${online}.`,
    details: children.map((child) => describeBackendNode(child.node, `${child.label}: `)),
  }
}

function orList(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`
}
