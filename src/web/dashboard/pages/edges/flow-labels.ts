import type { Answerer, Lane, Stop, Way } from './request-flow.ts'

/** A sentence with those that belong under it. */
export interface Sentence {
  readonly text: string
  readonly below: readonly Sentence[]
}

const PROTOCOLS = { https: 'https', tls: 'TLS', tcp: 'TCP' } as const

/** The picture in words, for whoever cannot see it or would rather read. */
export function wordsOf(way: Way): Sentence[] {
  const entrance =
    way.entrances.length === 0
      ? 'Nobody can come in yet: the edge has no host name or address.'
      : `A visitor comes with ${PROTOCOLS[way.kind]} to ${orList(way.entrances)}.`
  const lanes = way.lanes.map((lane) => laneWords(lane, way))
  const nowhere = { text: 'There is no route yet, so every request is answered with 404.', below: [] }
  return [
    { text: entrance, below: [] },
    ...way.stops.map(stopWords),
    ...(way.kind === 'https' && lanes.length === 0 ? [nowhere] : lanes.flat()),
  ]
}

function laneWords(lane: Lane, way: Way): Sentence[] {
  const end = endWords(lane)
  if (lane.match === undefined) return [end]
  const paths = lane.match.exact ? `the path ${lane.match.text}` : `paths that begin with ${lane.match.text}`
  const only = way.lanes.length === 1 && lane.match.text === '/' && !lane.match.exact
  return [
    {
      text: only ? 'For every path:' : `For ${paths}:`,
      below: [...lane.stops.map(stopWords), end],
    },
  ]
}

function stopWords({ title, brief, does, state, why }: Stop): Sentence {
  const settings = brief === '' ? '' : ` (${brief})`
  const text =
    state === 'off'
      ? `${title} is switched off.`
      : state === 'broken'
        ? `${title} cannot do its work, so nobody gets past it: ${why}.`
        : `${title}${settings} ${does}.`
  return { text, below: [] }
}

function endWords({ answerer, answererOn }: Lane): Sentence {
  if (answerer === undefined) return { text: 'Nobody answers: no backend is chosen.', below: [] }
  if (!answererOn)
    return { text: `Nobody answers: the backend ${answerer.title} is switched off.`, below: [] }
  return answererWords(answerer, '')
}

function answererWords(answerer: Answerer, before: string): Sentence {
  const { title, brief, kind, tunnels, ready, branches } = answerer
  const online =
    kind === 'tunnel_group'
      ? `; ${tunnels.length === 0 ? 'no tunnel is online' : `${tunnels.length} online: ${tunnels.map(({ forwards_to }) => forwards_to).join(', ')}`}`
      : ready
        ? ''
        : '; nobody would answer now'
  return {
    text: `${before}${title} (${brief}) answers${online}.`,
    below: branches.map((branch) => answererWords(branch.answerer, `${branch.label}: `)),
  }
}

function orList(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`
}
