import { useEffect, useState } from 'react'
import type { CaptureView, ReplayChanges, TunnelView } from '../../agent/local-api/page-data.ts'
import { formatBytes, formatDuration, stripPort } from '../shared/units.ts'
import type { CaptureFeed } from './capture-feed.ts'
import { formatCurl, formatFetch, requestUrl } from './copy-as.ts'
import { decodePath } from './decoded-path.ts'
import { type LoadedExchange, loadExchange } from './exchange.ts'
import { FrameList } from './frame-list.tsx'
import { MessageView, type Tab } from './message-view.tsx'
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
  const { feed, id, summary, tunnels, tab, onTab, onReplay, editing, onEdit, onSend } = props
  const { comparing, onCompare, onPin, onBack, onNotify } = props
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

  const capture = exchange?.capture ?? summary
  if (!capture) return <p className="hint">{problem || 'Loading…'}</p>
  const reason = replayBlockedReason(capture)
  const copy = (name: string, format: (exchange: LoadedExchange, url: string) => string) => async () => {
    if (!exchange) return
    const url = requestUrl(
      exchange.capture,
      tunnels.find(({ name: each }) => each === exchange.capture.tunnel_name)?.public_url,
    )
    try {
      await navigator.clipboard.writeText(format(exchange, url))
      onNotify(`Copied as ${name}.`)
    } catch {
      onNotify('The browser denied access to the clipboard.')
    }
  }
  const httpTunnels = tunnels.filter(
    ({ proto, config }) => proto.startsWith('http') || (proto === '' && config.inspect),
  )
  return (
    <>
      <div className="heading">
        <button type="button" className="back" onClick={onBack}>
          ← Requests
        </button>
        <h2>
          <span className="method chip">{capture.request.method}</span>{' '}
          <bdi>{decodePath(capture.request.uri)}</bdi>
        </h2>
        {decodePath(capture.request.uri) !== capture.request.uri && (
          <p className="encoded" title={capture.request.uri}>
            As sent: {capture.request.uri}
          </p>
        )}
        <p className="facts">
          <StatusCode capture={capture} />
          <span>{capture.in_flight ? 'in flight' : formatDuration(capture.duration)}</span>
          <span>{formatBytes(capture.response?.body_size ?? 0)}</span>
          <span>{stripPort(capture.remote_addr)}</span>
          <time dateTime={capture.start}>{capture.start.replace('T', ' ').slice(0, 23)}</time>
          {capture.tunnel_name !== '' && <span>{capture.tunnel_name}</span>}
        </p>
        {capture.timing && <Timing timing={capture.timing} inFlight={capture.in_flight} />}
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
          <button type="button" aria-pressed={capture.pinned} onClick={onPin}>
            {capture.pinned ? 'Unpin' : 'Pin'}
          </button>
          <button type="button" aria-pressed={comparing} onClick={onCompare}>
            Compare
          </button>
          <button
            type="button"
            onClick={copy('curl', ({ capture: loaded, request }, url) =>
              formatCurl(loaded, request, url, request.plainBody),
            )}
          >
            Copy curl
          </button>
          <button
            type="button"
            onClick={copy('fetch', ({ capture: loaded, request }, url) =>
              formatFetch(loaded, request, url, request.plainBody),
            )}
          >
            Copy fetch
          </button>
        </div>
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
      {exchange && (
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
      )}
      {capture.frames && (
        <FrameList id={id} feed={feed} kind={capture.response?.status_code === 101 ? 'Messages' : 'Events'} />
      )}
    </>
  )
}
