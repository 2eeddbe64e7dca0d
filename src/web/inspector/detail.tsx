import { useEffect, useState } from 'react'
import { bytes, duration, ipOf } from '../shared/units.ts'
import type { Capture, ReplayChanges, Tunnel } from './api.ts'
import type { CaptureFeed } from './capture-feed.ts'
import { asCurl, asFetch, urlOf } from './copy-as.ts'
import { type Exchange, loadExchange } from './exchange.ts'
import { FrameList } from './frame-list.tsx'
import { MessageView, type Tab } from './message-view.tsx'
import { ReplayForm } from './replay-form.tsx'
import { whyNotReplayable } from './replayable.ts'
import { StatusCode } from './request-list.tsx'

interface Props {
  feed: CaptureFeed
  id: string
  summary: Capture | undefined
  tunnels: readonly Tunnel[]
  tab: { request: Tab; response: Tab }
  onTab(side: 'request' | 'response', tab: Tab): void
  onReplay(tunnelName?: string): void
  editing: boolean
  onEdit(editing: boolean): void
  onSend(changes: ReplayChanges, tunnelName: string): Promise<void>
  comparing: boolean
  onCompare(): void
  onBack(): void
  onSay(text: string): void
}

/** One exchange in full: what was asked, what was answered, and what can be done with it. */
export function Detail(props: Props) {
  const { feed, id, summary, tunnels, tab, onTab, onReplay, editing, onEdit, onSend } = props
  const { comparing, onCompare, onBack, onSay } = props
  const [loaded, setLoaded] = useState<Exchange>()
  const [problem, setProblem] = useState('')
  // The summary is a new object when something of the exchange has changed.
  useEffect(() => {
    void summary
    let current = true
    loadExchange(id).then(
      (result) => {
        if (!current) return
        setLoaded(result)
        setProblem('')
      },
      (error: Error) =>
        current &&
        setProblem(`${error.message}. The agent keeps requests in memory and the oldest go first.`),
    )
    return () => {
      current = false
    }
  }, [id, summary])

  const capture = loaded?.capture ?? summary
  if (!capture) return <p className="hint">{problem || 'Loading…'}</p>
  const why = whyNotReplayable(capture)
  const copy = (name: string, make: (loaded: Exchange, url: string) => string) => async () => {
    if (!loaded) return
    const url = urlOf(
      loaded.capture,
      tunnels.find(({ name: each }) => each === loaded.capture.tunnel_name)?.public_url,
    )
    try {
      await navigator.clipboard.writeText(make(loaded, url))
      onSay(`Copied as ${name}.`)
    } catch {
      onSay('The browser did not let the page write to the clipboard.')
    }
  }
  const others = tunnels.filter(
    ({ proto, config }) => proto.startsWith('http') || (proto === '' && config.inspect),
  )
  return (
    <>
      <div className="heading">
        <button type="button" className="back" onClick={onBack}>
          ← Requests
        </button>
        <h2>
          <span className="method">{capture.request.method}</span> {capture.request.uri}
        </h2>
        <p className="facts">
          <StatusCode capture={capture} />
          <span>{capture.in_flight ? 'under way' : duration(capture.duration)}</span>
          <span>{bytes(capture.response?.body_size ?? 0)}</span>
          <span>{ipOf(capture.remote_addr)}</span>
          <time dateTime={capture.start}>{capture.start.replace('T', ' ').slice(0, 23)}</time>
          {capture.tunnel_name !== '' && <span>{capture.tunnel_name}</span>}
        </p>
        <div className="actions">
          <button type="button" className="main" onClick={() => onReplay()} disabled={!capture.replayable}>
            Replay
          </button>
          {others.length > 1 && (
            <select
              aria-label="Replay to another tunnel"
              value=""
              disabled={!capture.replayable}
              onChange={(event) => onReplay(event.target.value)}
            >
              <option value="">Replay to…</option>
              {others.map(({ ID, name }) => (
                <option key={ID} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
          <button type="button" aria-pressed={editing} onClick={() => onEdit(!editing)}>
            Replay with changes
          </button>
          <button type="button" aria-pressed={comparing} onClick={onCompare}>
            Compare
          </button>
          <button
            type="button"
            onClick={copy('curl', ({ capture: each, request }, url) =>
              asCurl(each, request, url, request.plainBody),
            )}
          >
            Copy curl
          </button>
          <button
            type="button"
            onClick={copy('fetch', ({ capture: each, request }, url) =>
              asFetch(each, request, url, request.plainBody),
            )}
          >
            Copy fetch
          </button>
        </div>
        {why !== undefined && <p className="note">{why}</p>}
        {capture.error !== undefined && <p className="note error">{capture.error}</p>}
        {problem !== '' && <p className="note error">{problem}</p>}
      </div>
      {loaded && editing && (
        <ReplayForm
          capture={loaded.capture}
          request={loaded.request}
          tunnels={others}
          onSend={onSend}
          onCancel={() => onEdit(false)}
        />
      )}
      {loaded && (
        <div className="sides">
          <MessageView
            side="request"
            title="Request"
            uri={capture.request.uri}
            message={loaded.request}
            tab={tab.request}
            onTab={(name) => onTab('request', name)}
          />
          {loaded.response ? (
            <MessageView
              side="response"
              title="Response"
              message={loaded.response}
              tab={tab.response}
              onTab={(name) => onTab('response', name)}
            />
          ) : (
            <section className="message">
              <h3>Response</h3>
              <p className="note">
                {capture.in_flight ? 'The local service has not answered yet.' : 'There was no answer.'}
              </p>
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
