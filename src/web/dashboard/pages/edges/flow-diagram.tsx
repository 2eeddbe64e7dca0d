import type { ReactNode } from 'react'
import { Badge, Button } from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { type Sentence, wordsOf } from './flow-labels.ts'
import { Icon } from './icons.tsx'
import type { Answerer, Branch, Lane, Opening, Stop, Way } from './request-flow.ts'
import './flow.css'

/** What a place does right now. */
export interface PlaceRate {
  readonly perSecond: number
  readonly total: number
}

interface Handlers {
  /** Opens the form of what was pressed. */
  readonly onOpen: (opening: Opening) => void
  /** Adds a module to a route, or to the edge itself; left out for those who may only look. */
  readonly onAdd?: ((routeId: string | undefined) => void) | undefined
  readonly onAddRoute?: (() => void) | undefined
}

/** The way a request takes through an edge. Every station opens the form that edits it. */
export function WayPicture({
  way,
  rateOf,
  ...handlers
}: Handlers & { way: Way; rateOf?: (placeId: string | undefined) => PlaceRate | undefined }) {
  const { onOpen, onAdd, onAddRoute } = handlers
  const single = way.lanes[0]
  return (
    <section className="way" aria-label="The way of a request">
      <ol className="way-line">
        <li className="way-step">
          <span className="way-node visitor">
            <Icon name="visitor" />
            <span className="way-text">
              <b>Visitor</b>
              <small>anywhere</small>
            </span>
          </span>
        </li>
        <li className="way-step">
          <Node
            icon="entrance"
            title={way.entrances[0] ?? 'No name yet'}
            brief={entranceBrief(way)}
            state={way.entrances.length === 0 ? 'broken' : 'on'}
            onClick={() => onOpen({ what: 'edge' })}
          />
        </li>
        {way.stops.map((stop) => (
          <li key={stop.module} className="way-step">
            <StopNode stop={stop} onOpen={onOpen} />
          </li>
        ))}
        {onAdd && (
          <li className="way-step">
            <AddButton label="Add a module to the edge" onClick={() => onAdd(undefined)} />
          </li>
        )}
        {way.kind !== 'https' && single && (
          <li className={`way-step ${flowing(rateOf?.(undefined))}`}>
            <End lane={single} rate={rateOf?.(undefined)} onOpen={onOpen} />
          </li>
        )}
      </ol>
      {way.kind === 'https' && (
        <ol className="way-lanes">
          {way.lanes.map((lane) => (
            <li key={lane.routeId} className="way-lane">
              <RouteLane lane={lane} rate={rateOf?.(lane.routeId)} {...handlers} />
            </li>
          ))}
          {onAddRoute && (
            <li className="way-lane">
              <Button kind={way.lanes.length === 0 ? 'main' : 'plain'} onClick={onAddRoute}>
                Add a route
              </Button>
            </li>
          )}
        </ol>
      )}
      <details className="way-words">
        <summary>The same in words</summary>
        <Words sentences={wordsOf(way)} />
      </details>
    </section>
  )
}

function entranceBrief({ kind, entrances }: Way): string {
  if (entrances.length === 0) return 'nobody can come in'
  const more = entrances.length > 1 ? ` and ${entrances.length - 1} more` : ''
  return `${{ https: 'HTTPS', tls: 'TLS by server name', tcp: 'TCP' }[kind]}${more}`
}

function RouteLane({ lane, rate, onOpen, onAdd }: Handlers & { lane: Lane; rate: PlaceRate | undefined }) {
  const { match, routeId, description } = lane
  const words = match?.exact ? 'exactly this path' : 'and everything below'
  return (
    <ol className={`way-line ${flowing(rate)}`} aria-label={`Route ${match?.text}`}>
      <li className="way-step">
        <Node
          icon="route"
          title={match?.text ?? ''}
          mono
          brief={description || (match?.text === '/' && !match.exact ? 'every path' : words)}
          state="on"
          onClick={() => onOpen({ what: 'route', routeId: routeId! })}
        />
      </li>
      {lane.stops.map((stop) => (
        <li key={stop.module} className="way-step">
          <StopNode stop={stop} onOpen={onOpen} />
        </li>
      ))}
      {onAdd && (
        <li className="way-step">
          <AddButton label={`Add a module to the route ${match?.text}`} onClick={() => onAdd(routeId)} />
        </li>
      )}
      <li className="way-step">
        <End lane={lane} rate={rate} onOpen={onOpen} />
      </li>
    </ol>
  )
}

function flowing(rate: PlaceRate | undefined): string {
  return rate && rate.perSecond > 0 ? 'flowing' : ''
}

function StopNode({ stop, onOpen }: { stop: Stop; onOpen: Handlers['onOpen'] }) {
  const { module, title, brief, state, why, opens } = stop
  return <Node icon={module} title={title} brief={why ?? brief} state={state} onClick={() => onOpen(opens)} />
}

/** Who answers at the end of a lane, or the button to choose somebody. */
function End({
  lane,
  rate,
  onOpen,
}: {
  lane: Lane
  rate: PlaceRate | undefined
  onOpen: Handlers['onOpen']
}) {
  const { answerer, answererOn, routeId } = lane
  const choose = () => onOpen({ what: 'choose_backend', routeId })
  if (!answerer)
    return (
      <button type="button" className="way-node choose" onClick={choose}>
        <Icon name="add" />
        <span className="way-text">
          <b>Choose who answers</b>
          <small>nobody does yet</small>
        </span>
      </button>
    )
  return (
    <div className={depthOf(answerer) > 3 ? 'way-end deep' : 'way-end'}>
      <AnswererTree answerer={answerer} on={answererOn} onOpen={onOpen} />
      <div className="way-end-foot">
        <Button kind="quiet" onClick={choose}>
          Change who answers
        </Button>
        {rate && rate.total > 0 && (
          <span className="way-rate">
            {rate.perSecond > 0 ? `${rate.perSecond.toFixed(rate.perSecond < 10 ? 1 : 0)}/s · ` : ''}
            {rate.total} since the start
          </span>
        )}
      </div>
    </div>
  )
}

/** Trees that would not fit beside each other stand below each other. */
function depthOf({ branches }: Answerer): number {
  return 1 + Math.max(0, ...branches.map(({ answerer }) => depthOf(answerer)))
}

/** A backend with all it passes requests on to. */
export function AnswererTree({
  answerer,
  on = true,
  onOpen,
}: {
  answerer: Answerer
  on?: boolean
  onOpen: Handlers['onOpen']
}) {
  const { id, kind, title, brief, ready, branches, tunnels } = answerer
  return (
    <div className="way-answerer">
      <div>
        <Node
          icon={kind ?? 'static'}
          title={title}
          brief={brief}
          state={!on ? 'off' : ready || kind === 'tunnel_group' ? 'on' : 'idle'}
          onClick={() => onOpen({ what: 'backend', backendId: id })}
        />
        {kind === 'tunnel_group' && (
          <ul className="way-tunnels" aria-label={`Tunnels online of ${title}`}>
            {tunnels.map(({ id, forwards_to, tunnel_session }) => (
              <li key={id} className="way-online">
                <a href={hrefTo(`/agents/${tunnel_session.id}`)} className="way-tunnel">
                  {forwards_to}
                </a>
              </li>
            ))}
            {tunnels.length === 0 && <li className="way-online way-none">no tunnel online</li>}
          </ul>
        )}
      </div>
      {branches.length > 0 && (
        <ul className="way-branches">
          {branches.map((branch) => (
            <li key={branch.answerer.id} className="way-twig">
              <BranchLabel branch={branch} />
              <AnswererTree answerer={branch.answerer} onOpen={onOpen} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function BranchLabel({ branch: { label, share } }: { branch: Branch }) {
  return (
    <span className={share === undefined ? 'way-branch place' : 'way-branch'}>
      <span>{label}</span>
      {share !== undefined && (
        <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect className="all" width="100" height="4" />
          <rect className="part" width={share * 100} height="4" />
        </svg>
      )}
    </span>
  )
}

type NodeState = 'on' | 'off' | 'broken' | 'idle'

const STATE_WORDS: Readonly<Record<NodeState, ReactNode>> = {
  on: undefined,
  off: <Badge>off</Badge>,
  broken: <Badge tone="bad">lets nobody in</Badge>,
  idle: <Badge tone="warn">nobody online</Badge>,
}

function Node({
  icon,
  title,
  brief,
  state,
  mono = false,
  onClick,
}: {
  icon: Parameters<typeof Icon>[0]['name']
  title: string
  brief: string
  state: NodeState
  mono?: boolean
  onClick: () => void
}) {
  return (
    <button type="button" className={`way-node ${state}`} onClick={onClick} title={brief}>
      <Icon name={icon} />
      <span className="way-text">
        <b className={mono ? 'mono' : undefined}>{title}</b>
        <small>{brief}</small>
      </span>
      {STATE_WORDS[state]}
    </button>
  )
}

function AddButton({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <button type="button" className="way-add" aria-label={label} title={label} onClick={onClick}>
      <Icon name="add" />
    </button>
  )
}

function Words({ sentences }: { sentences: readonly Sentence[] }) {
  return (
    <ol>
      {sentences.map(({ text, below }) => (
        <li key={text}>
          {text}
          {below.length > 0 && <Words sentences={below} />}
        </li>
      ))}
    </ol>
  )
}
