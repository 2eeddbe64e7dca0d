import type { ReactNode } from 'react'
import { Badge, BreakableText, Button } from '../../kit/index.ts'
import { hrefTo } from '../../route.ts'
import { describeFlow, type Sentence } from './flow-labels.ts'
import { Icon } from './icons.tsx'
import type {
  BackendChild,
  BackendNode,
  EditTarget,
  FlowBranch,
  FlowStep,
  RequestFlow,
} from './request-flow.ts'
import './flow.css'

/** The traffic of an edge or route. */
export interface ScopeRate {
  readonly perSecond: number
  readonly total: number
  readonly unit: 'request' | 'connection'
}

interface Handlers {
  /** Opens the form for the clicked node. */
  readonly onOpen: (target: EditTarget) => void
  /** Adds a module to a route, or to the edge when undefined; omitted for read-only users. */
  readonly onAdd?: ((routeId: string | undefined) => void) | undefined
  readonly onAddRoute?: (() => void) | undefined
  /** Chooses the backend of a route, or of the edge. */
  readonly onChoose?: ((routeId: string | undefined) => void) | undefined
}

/** Draws the path of a request through an edge. Each node opens the form that edits it. */
export function FlowDiagram({
  flow,
  rateOf,
  ...handlers
}: Handlers & { flow: RequestFlow; rateOf?: (scopeId: string | undefined) => ScopeRate | undefined }) {
  const { onOpen, onAdd, onAddRoute, onChoose } = handlers
  const single = flow.branches[0]
  return (
    <section className="flow" aria-label="Request path">
      <ol className="flow-line">
        <li className="flow-step">
          <span className="flow-node visitor">
            <Icon name="visitor" />
            <span className="flow-text">
              <b>Visitor</b>
              <small>anywhere</small>
            </span>
          </span>
        </li>
        <li className="flow-step">
          <Node
            icon="entrance"
            title={flow.hostports[0] ?? 'No name yet'}
            summary={summarizeHostports(flow)}
            state={flow.hostports.length === 0 ? 'idle' : 'on'}
            onClick={() => onOpen({ kind: 'edge' })}
          />
        </li>
        {flow.steps.map((step) => (
          <li key={step.module} className="flow-step">
            <StepNode step={step} onOpen={onOpen} />
          </li>
        ))}
        {onAdd && (
          <li className="flow-step">
            <AddButton label="Add a module to the edge" onClick={() => onAdd(undefined)} />
          </li>
        )}
        {flow.kind !== 'https' && single && (
          <li className={`flow-step ${flowClass(rateOf?.(undefined))}`}>
            <BranchBackend branch={single} rate={rateOf?.(undefined)} onOpen={onOpen} onChoose={onChoose} />
          </li>
        )}
      </ol>
      {flow.kind === 'https' && (
        <ol className="flow-branches">
          {flow.branches.map((branch) => (
            <li key={branch.routeId} className="flow-branch">
              <RouteBranch branch={branch} rate={rateOf?.(branch.routeId)} {...handlers} />
            </li>
          ))}
          {onAddRoute && (
            <li className="flow-branch">
              <Button kind={flow.branches.length === 0 ? 'main' : 'plain'} onClick={onAddRoute}>
                Add a route
              </Button>
            </li>
          )}
        </ol>
      )}
      <details className="flow-description">
        <summary>Text description</summary>
        <SentenceList sentences={describeFlow(flow)} />
      </details>
    </section>
  )
}

function summarizeHostports({ kind, hostports }: RequestFlow): string {
  if (hostports.length === 0) return 'not reachable'
  const more = hostports.length > 1 ? ` and ${hostports.length - 1} more` : ''
  return `${{ https: 'HTTPS', tls: 'TLS by server name', tcp: 'TCP' }[kind]}${more}`
}

function RouteBranch({
  branch,
  rate,
  onOpen,
  onAdd,
  onChoose,
}: Handlers & { branch: FlowBranch; rate: ScopeRate | undefined }) {
  const { match, routeId, description } = branch
  const coverage = match?.exact ? 'exact path' : 'path prefix'
  return (
    <ol className={`flow-line ${flowClass(rate)}`} aria-label={`Route ${match?.text}`}>
      <li className="flow-step">
        <Node
          icon="route"
          title={match?.text ?? ''}
          mono
          summary={description || (match?.text === '/' && !match.exact ? 'every path' : coverage)}
          state="on"
          onClick={() => onOpen({ kind: 'route', routeId: routeId! })}
        />
      </li>
      {branch.steps.map((step) => (
        <li key={step.module} className="flow-step">
          <StepNode step={step} onOpen={onOpen} />
        </li>
      ))}
      {onAdd && (
        <li className="flow-step">
          <AddButton label={`Add a module to the route ${match?.text}`} onClick={() => onAdd(routeId)} />
        </li>
      )}
      <li className="flow-step">
        <BranchBackend branch={branch} rate={rate} onOpen={onOpen} onChoose={onChoose} />
      </li>
    </ol>
  )
}

function flowClass(rate: ScopeRate | undefined): string {
  return rate && rate.perSecond > 0 ? 'flowing' : ''
}

function StepNode({ step, onOpen }: { step: FlowStep; onOpen: Handlers['onOpen'] }) {
  const { module, title, summary, state, reason, target } = step
  return (
    <Node
      icon={module}
      title={title}
      summary={reason ?? summary}
      state={state}
      onClick={() => onOpen(target)}
    />
  )
}

/** The backend of a branch, or the button to choose one. */
function BranchBackend({
  branch,
  rate,
  onOpen,
  onChoose,
}: Pick<Handlers, 'onOpen' | 'onChoose'> & { branch: FlowBranch; rate: ScopeRate | undefined }) {
  const { backend, backendEnabled, routeId } = branch
  const choose = onChoose && (() => onChoose(routeId))
  if (!backend)
    return choose === undefined ? (
      <span className="flow-node choose">
        <span className="flow-text">
          <b>No backend</b>
        </span>
      </span>
    ) : (
      <button type="button" className="flow-node choose" onClick={choose}>
        <Icon name="add" />
        <span className="flow-text">
          <b>Choose backend</b>
          <small>none selected</small>
        </span>
      </button>
    )
  return (
    <div className={depthOf(backend) > 3 ? 'flow-end deep' : 'flow-end'}>
      <BackendTree node={backend} enabled={backendEnabled} onOpen={onOpen} />
      <div className="flow-end-foot">
        {choose && (
          <Button kind="quiet" onClick={choose}>
            Change backend
          </Button>
        )}
        {rate && rate.total > 0 && (
          <span className="flow-rate">
            {rate.perSecond > 0 ? `${rate.perSecond.toFixed(rate.perSecond < 10 ? 1 : 0)}/s · ` : ''}
            {rate.total} {rate.total === 1 ? rate.unit : `${rate.unit}s`} since server start
          </span>
        )}
      </div>
    </div>
  )
}

/** The depth of a backend tree; deep trees are laid out vertically. */
function depthOf({ children }: BackendNode): number {
  return 1 + Math.max(0, ...children.map(({ node }) => depthOf(node)))
}

/** The tunnels of a group that the diagram lists; the page of the group has more. */
const MAX_TUNNELS = 10

/** A backend and everything it forwards requests to. */
export function BackendTree({
  node,
  enabled = true,
  onOpen,
}: {
  node: BackendNode
  enabled?: boolean
  onOpen: Handlers['onOpen']
}) {
  const { id, kind, title, summary, ready, children, online, tunnels } = node
  const displayed = tunnels.slice(0, MAX_TUNNELS)
  return (
    <div className="flow-backend">
      <div>
        <Node
          icon={kind ?? 'static'}
          title={title}
          summary={summary}
          state={!enabled ? 'off' : ready || kind === 'tunnel_group' ? 'on' : 'idle'}
          onClick={() => onOpen({ kind: 'backend', backendId: id })}
        />
        {kind === 'tunnel_group' && (
          <ul className="flow-tunnels" aria-label={`Tunnels online of ${title}`}>
            {displayed.map(({ id, forwards_to, tunnel_session_id }) => (
              <li key={id} className="flow-online">
                <a href={hrefTo(`/agents/${tunnel_session_id}`)} className="flow-tunnel">
                  {forwards_to}
                </a>
              </li>
            ))}
            {online > displayed.length && (
              <li className="flow-online">and {(online - displayed.length).toLocaleString('en')} more</li>
            )}
            {online === 0 && <li className="flow-online flow-none">no tunnel online</li>}
          </ul>
        )}
      </div>
      {children.length > 0 && (
        <ul className="flow-children">
          {children.map((child) => (
            <li key={child.node.id} className="flow-child">
              <ChildLabel child={child} />
              <BackendTree node={child.node} onOpen={onOpen} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function ChildLabel({ child: { label, share } }: { child: BackendChild }) {
  return (
    <span className={share === undefined ? 'flow-child-label position' : 'flow-child-label'}>
      <span>{label}</span>
      {share !== undefined && (
        <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect className="track" width="100" height="4" />
          <rect className="fill" width={share * 100} height="4" />
        </svg>
      )}
    </span>
  )
}

type NodeState = 'on' | 'off' | 'broken' | 'idle'

const STATE_BADGES: Readonly<Record<NodeState, ReactNode>> = {
  on: undefined,
  off: <Badge>off</Badge>,
  broken: <Badge tone="bad">rejects all traffic</Badge>,
  idle: <Badge tone="warn">unavailable</Badge>,
}

function Node({
  icon,
  title,
  summary,
  state,
  mono = false,
  onClick,
}: {
  icon: Parameters<typeof Icon>[0]['name']
  title: string
  summary: string
  state: NodeState
  mono?: boolean
  onClick: () => void
}) {
  return (
    <button type="button" className={`flow-node ${state}`} onClick={onClick} title={summary}>
      <Icon name={icon} />
      <span className="flow-text">
        <b className={mono ? 'mono' : undefined}>
          <BreakableText text={title} />
        </b>
        <small>{summary}</small>
      </span>
      {STATE_BADGES[state]}
    </button>
  )
}

function AddButton({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <button type="button" className="flow-add" aria-label={label} title={label} onClick={onClick}>
      <Icon name="add" />
    </button>
  )
}

function SentenceList({ sentences }: { sentences: readonly Sentence[] }) {
  return (
    <ol>
      {sentences.map(({ text, details }) => (
        <li key={text}>
          {text}
          {details.length > 0 && <SentenceList sentences={details} />}
        </li>
      ))}
    </ol>
  )
}
