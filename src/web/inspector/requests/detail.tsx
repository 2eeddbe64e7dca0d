import { useEffect, useState } from 'react'
import type { CaptureView, ReplayChanges, TunnelView } from '../../../agent/local-api/page-data.ts'
import { LocalTime } from '../../shared/time.tsx'
import { formatBytes, formatDuration, stripPort } from '../../shared/units.ts'
import type { CaptureFeed } from '../capture-feed.ts'
import { decodePath } from '../message/decoded-path.ts'
import { FrameList } from '../message/frame-list.tsx'
import { MessageView, type Tab } from '../message/message-view.tsx'
import { formatCurl, formatFetch, requestUrl } from './copy-as.ts'
import { type LoadedExchange, loadExchange } from './exchange.ts'
import { PolicyActions } from './policy-actions.tsx'
import { ReplayForm } from './replay-form.tsx'
import { replayBlockedReason } from './replayable.ts'
import { StatusCode } from './request-list.tsx'
import { Timing } from './timing.tsx'

interface Props {
  feed: CaptureFeed
  id: string
  summary: CaptureView | undefined
  tunnels: readonly TunnelView[]
  tab: { request: Tab; response: Tab }
  onTab(side: 'request' | 'response', tab: Tab): void
  onReplay(tunnelName?: string): void
  editing: boolean
  onEdit(editing: boolean): void
  onSend(changes: ReplayChanges, tunnelName: string): Promise<void>
  comparing: boolean
  onCompare(): void
  onPin(): void
  onBack(): void
  onNotify(text: string): void
}

/** One exchange with its request, its response and the available actions. */
export function Detail(props: Props) {
  const { feed, id, summary, tunnels, editing, onEdit, onSend } = props
  const { exchange, problem } = useExchange(id, summary)
  const capture = exchange?.capture ?? summary
  if (!capture) return <p className="hint">{problem || 'Loading…'}</p>
  const reason = replayBlockedReason(capture)
  const httpTunnels = tunnels.filter(
    ({ proto, config }) => proto.startsWith('http') || (proto === '' && config.inspect),
  )
  return (
    <>
      <div className="heading">
        <button type="button" className="back" onClick={props.onBack}>
          ← Requests
        </button>
        <RequestLine uri={capture.request.uri} method={capture.request.method} />
        <RequestFacts capture={capture} />
        {capture.timing && <Timing timing={capture.timing} inFlight={capture.in_flight} />}
        {capture.policy && <PolicyActions actions={capture.policy} />}
        <Actions {...props} capture={capture} exchange={exchange} httpTunnels={httpTunnels} />
        {reason !== undefined && <p className="note">{reason}</p>}
        {capture.error !== undefined && <p className="note error">{capture.error}</p>}
        {problem !== '' && <p className="note error">{problem}</p>}
      </div>
      {exchange && editing && (
        <ReplayForm
          capture={exchange.capture}
          request={exchange.request}
          tunnels={httpTunnels}
          onSend={onSend}
          onCancel={() => onEdit(false)}
        />
      )}
      {exchange && <Messages {...props} capture={capture} exchange={exchange} />}
      {capture.frames && (
        <FrameList id={id} feed={feed} kind={capture.response?.status_code === 101 ? 'Messages' : 'Events'} />
      )}
    </>
  )
}

/** Loads an exchange, and loads it again whenever it has changed. */
function useExchange(id: string, summary: CaptureView | undefined) {
  const [exchange, setExchange] = useState<LoadedExchange>()
  const [problem, setProblem] = useState('')
  // The summary is a new object whenever the exchange has changed.
  useEffect(() => {
    void summary
    let current = true
    loadExchange(id).then(
      (result) => {
        if (!current) return
        setExchange(result)
        setProblem('')
      },
      (error: Error) =>
        current &&
        setProblem(`${error.message}. The agent stores requests in memory and evicts the oldest first.`),
    )
    return () => {
      current = false
    }
  }, [id, summary])
  return { exchange, problem }
}

function RequestLine({ method, uri }: { method: string; uri: string }) {
  const path = decodePath(uri)
  return (
    <>
      <h2>
        <span className="method chip">{method}</span> <bdi>{path}</bdi>
      </h2>
      {path !== uri && (
        <p className="encoded" title={uri}>
          As sent: {uri}
        </p>
      )}
    </>
  )
}

function RequestFacts({ capture }: { capture: CaptureView }) {
  return (
    <p className="facts">
      <StatusCode capture={capture} />
      <span>{capture.in_flight ? 'in flight' : formatDuration(capture.duration)}</span>
      <span>{formatBytes(capture.response?.body_size ?? 0)}</span>
      <span>{stripPort(capture.remote_addr)}</span>
      <LocalTime value={capture.start} />
      {capture.tunnel_name !== '' && <span>{capture.tunnel_name}</span>}
    </p>
  )
}

interface ActionProps extends Props {
  capture: CaptureView
  exchange: LoadedExchange | undefined
  httpTunnels: readonly TunnelView[]
}

function Actions(props: ActionProps) {
  const { capture, exchange, tunnels, httpTunnels, onReplay, editing, onEdit, onNotify } = props
  const copy = async (name: string, format: typeof formatCurl) => {
    if (!exchange) return
    const { capture: loaded, request } = exchange
    const tunnel = tunnels.find((each) => each.name === loaded.tunnel_name)
    const text = format(loaded, request, requestUrl(loaded, tunnel?.public_url), request.plainBody)
    try {
      await navigator.clipboard.writeText(text)
      onNotify(`Copied as ${name}.`)
    } catch {
      onNotify('The browser denied access to the clipboard.')
    }
  }
  return (
    <div className="actions">
      <button type="button" className="main" onClick={() => onReplay()} disabled={!capture.replayable}>
        Replay
      </button>
      {httpTunnels.length > 1 && (
        <select
          aria-label="Replay to another tunnel"
          value=""
          disabled={!capture.replayable}
          onChange={(event) => onReplay(event.target.value)}
        >
          <option value="">Replay to…</option>
          {httpTunnels.map(({ ID, name }) => (
            <option key={ID} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      <button type="button" aria-pressed={editing} onClick={() => onEdit(!editing)}>
        Replay with changes
      </button>
      <button type="button" aria-pressed={capture.pinned} onClick={props.onPin}>
        {capture.pinned ? 'Unpin' : 'Pin'}
      </button>
      <button type="button" aria-pressed={props.comparing} onClick={props.onCompare}>
        Compare
      </button>
      <button type="button" onClick={() => void copy('curl', formatCurl)}>
        Copy curl
      </button>
      <button type="button" onClick={() => void copy('fetch', formatFetch)}>
        Copy fetch
      </button>
    </div>
  )
}

interface MessagesProps extends Pick<Props, 'tab' | 'onTab' | 'onNotify'> {
  capture: CaptureView
  exchange: LoadedExchange
}

/** The request beside its response. */
function Messages({ capture, exchange, tab, onTab, onNotify }: MessagesProps) {
  return (
    <div className="sides">
      <MessageView
        side="request"
        title="Request"
        onNotify={onNotify}
        uri={capture.request.uri}
        message={exchange.request}
        tab={tab.request}
        onTab={(name) => onTab('request', name)}
      />
      {exchange.response ? (
        <MessageView
          side="response"
          title="Response"
          onNotify={onNotify}
          message={exchange.response}
          tab={tab.response}
          onTab={(name) => onTab('response', name)}
        />
      ) : (
        <section className="message">
          <h3>Response</h3>
          <p className="note">{capture.in_flight ? 'Waiting for the response.' : 'No response.'}</p>
        </section>
      )}
    </div>
  )
}
