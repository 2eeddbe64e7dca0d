import { useCallback, useEffect, useRef, useState } from 'react'
import { timeOfDay } from '../shared/units.ts'
import { useKeys } from '../shared/use-keys.ts'
import {
  ApiError,
  type Capture,
  clearCaptures,
  getStatus,
  listCaptures,
  listTunnels,
  type ReplayChanges,
  replayCapture,
  type Tunnel,
} from './api.ts'
import type { CaptureFeed, FeedView } from './capture-feed.ts'
import { Detail } from './detail.tsx'
import { DiffView } from './diff-view.tsx'
import { toHar } from './har.ts'
import { Help } from './help.tsx'
import type { Tab } from './message-view.tsx'
import { QUERY_FIELDS } from './query.ts'
import { whyNotReplayable } from './replayable.ts'
import { RequestList } from './request-list.tsx'
import { useMatches } from './use-matches.ts'

const BASE = '/inspect/http'

/** The list of requests beside the one that is looked at. */
export function InspectPage({ feed, view }: { feed: CaptureFeed; view: FeedView }) {
  const [search, setSearch] = useState('')
  const [selected, setSelected] = useState(idInPath)
  const [opened, setOpened] = useState(selected !== undefined)
  const [tab, setTab] = useState<{ request: Tab; response: Tab }>({ request: 'Summary', response: 'Summary' })
  /** The id of the request whose changes are being written. */
  const [edited, setEdited] = useState<string>()
  /** The id of the request others are compared with. */
  const [base, setBase] = useState<string>()
  const [help, setHelp] = useState(false)
  const [said, setSaid] = useState('')
  const [tunnels, setTunnels] = useState<readonly Tunnel[]>([])
  const searchBox = useRef<HTMLInputElement>(null)
  const replayed = useRef<{ after: string; method: string; uri: string } | undefined>(undefined)
  const { matches, searching, problem } = useMatches(view.captures, search)

  const select = useCallback((id: string | undefined) => {
    setSelected(id)
    history.replaceState(null, '', id === undefined ? BASE : `${BASE}/${id}`)
  }, [])
  const attempt = useCallback(async (work: () => Promise<string | undefined>) => {
    try {
      setSaid((await work()) ?? '')
    } catch (error) {
      setSaid(error instanceof ApiError ? error.message : `That failed: ${(error as Error).message}`)
    }
  }, [])

  useEffect(() => {
    if (view.state === 'live') listTunnels().then(setTunnels, () => {})
  }, [view.state])
  useEffect(() => {
    if (said === '') return
    const timer = setTimeout(() => setSaid(''), 6000)
    return () => clearTimeout(timer)
  }, [said])
  // A replay answers before its capture is told of; once it is there, it is what people want to see.
  useEffect(() => {
    const wanted = replayed.current
    if (!wanted) return
    const capture = view.captures.find(
      ({ id, request }) =>
        id > wanted.after && request.method === wanted.method && request.uri === wanted.uri,
    )
    if (!capture) return
    replayed.current = undefined
    select(capture.id)
  }, [view.captures, select])

  const current = view.captures.find(({ id }) => id === selected)
  const send = async (
    capture: Capture,
    changes: ReplayChanges | undefined,
    tunnelName: string | undefined,
  ) => {
    const { method, path: uri } = { method: capture.request.method, path: capture.request.uri, ...changes }
    replayed.current = { after: view.captures[0]?.id ?? '', method, uri }
    await replayCapture(capture.id, tunnelName, changes)
    listTunnels().then(setTunnels, () => {})
    return `Replayed ${method} ${uri.slice(0, 60)}${tunnelName === undefined ? '' : ` to ${tunnelName}`}.`
  }
  const replay = (tunnelName?: string) =>
    void attempt(async () => {
      if (!current) return 'Select a request to replay.'
      const why = whyNotReplayable(current)
      if (why !== undefined) return why
      return send(current, undefined, tunnelName)
    })
  const edit = (editing: boolean) => {
    if (selected === undefined) return
    setEdited(editing ? selected : undefined)
    setOpened(true)
  }
  const move = (to: (at: number) => number) => {
    if (matches.length === 0) return
    const at = matches.findIndex(({ id }) => id === selected)
    select(matches[Math.max(0, Math.min(matches.length - 1, at < 0 ? 0 : to(at)))]?.id)
  }
  const compare = () => setBase(base === undefined ? selected : undefined)
  const leave = () => {
    if (edited !== undefined && edited === selected) setEdited(undefined)
    else if (opened) setOpened(false)
    else if (base !== undefined) setBase(undefined)
    else setSearch('')
  }
  const setTabs = (name: Tab) => setTab({ request: name, response: name })
  useKeys([
    ['j ArrowDown', () => move((at) => at + 1)],
    ['k ArrowUp', () => move((at) => at - 1)],
    ['PageDown', () => move((at) => at + 10)],
    ['PageUp', () => move((at) => at - 10)],
    ['g Home', () => move(() => 0)],
    ['G End', () => move(() => matches.length - 1)],
    ['Enter', () => selected !== undefined && setOpened(true)],
    ['/', () => searchBox.current?.select()],
    ['r', () => replay()],
    ['e', () => edit(true)],
    ['d', compare],
    ['p', () => feed.pause(!view.paused)],
    ['1', () => setTabs('Summary')],
    ['2', () => setTabs('Headers')],
    ['3', () => setTabs('Raw')],
    ['4', () => setTabs('Binary')],
    ['?', () => setHelp(true)],
    ['Escape', leave],
  ])

  const exportHar = () =>
    void attempt(async () => {
      const wanted = new Set(matches.map(({ id }) => id))
      const har = await collectHar(wanted)
      save(har, 'adit.har')
      return `Exported ${wanted.size} requests.`
    })
  const clear = () =>
    void attempt(async () => {
      await clearCaptures()
      select(undefined)
      setBase(undefined)
      setOpened(false)
      return 'Cleared.'
    })

  return (
    <main className={`inspect${opened && selected !== undefined ? ' opened' : ''}`}>
      <h1 className="hidden">Captured requests</h1>
      <section className="list" aria-label="Requests">
        <search className="bar">
          <input
            ref={searchBox}
            type="search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
            placeholder="Search  ( / )"
            aria-label="Search requests"
            aria-describedby="search-help"
            spellCheck={false}
            autoComplete="off"
          />
          <button type="button" onClick={() => feed.pause(!view.paused)} aria-pressed={view.paused}>
            {view.paused ? 'Resume' : 'Pause'}
          </button>
          <button type="button" onClick={clear} disabled={view.captures.length === 0}>
            Clear
          </button>
          <button type="button" onClick={exportHar} disabled={matches.length === 0}>
            HAR
          </button>
          <button type="button" onClick={() => setHelp(true)} aria-label="Help">
            ?
          </button>
        </search>
        <p className="counts" id="search-help">
          {problem ?? counts(matches.length, view, search, searching)}
          <span className="hidden">Fields: {QUERY_FIELDS}.</span>
        </p>
        {base !== undefined && (
          <div className="comparing">
            <p role="status">Comparing with {nameOf(view.captures, base)}. Select another request.</p>
            <button type="button" onClick={() => setBase(undefined)}>
              Stop
            </button>
          </div>
        )}
        {view.captures.length === 0 ? (
          <Empty tunnels={tunnels} />
        ) : (
          <RequestList
            captures={matches}
            selected={selected}
            onSelect={select}
            onOpen={() => setOpened(true)}
          />
        )}
      </section>
      <section className="detail" aria-label="Request">
        {selected === undefined ? (
          view.captures.length > 0 && <p className="hint">Select a request. Press ? for keys.</p>
        ) : base !== undefined && base !== selected ? (
          <DiffView
            key={`${base} ${selected}`}
            left={base}
            right={selected}
            onStop={() => setBase(undefined)}
            onBack={() => setOpened(false)}
          />
        ) : (
          <Detail
            key={selected}
            feed={feed}
            id={selected}
            summary={current}
            tunnels={tunnels}
            tab={tab}
            onTab={(side, name) => setTab({ ...tab, [side]: name })}
            onReplay={replay}
            editing={edited === selected}
            onEdit={edit}
            onSend={async (changes, tunnelName) => {
              if (!current) throw new Error('the agent no longer has this request.')
              setSaid(
                await send(current, changes, tunnelName === current.tunnel_name ? undefined : tunnelName),
              )
              setEdited(undefined)
            }}
            comparing={base === selected}
            onCompare={compare}
            onBack={() => setOpened(false)}
            onSay={setSaid}
          />
        )}
      </section>
      <div className="said" role="status">
        {said !== '' && <p>{said}</p>}
      </div>
      {help && <Help onClose={() => setHelp(false)} />}
    </main>
  )
}

/** A link may lead to one request. */
function idInPath(): string | undefined {
  return /^\/inspect\/http\/(airt_\w+)$/.exec(location.pathname)?.[1]
}

/** A request in a few words. */
function nameOf(captures: readonly Capture[], id: string): string {
  const { request, start } = captures.find((capture) => capture.id === id) ?? {}
  return request
    ? `${request.method} ${request.uri.slice(0, 60)} of ${timeOfDay(start!)}`
    : 'a request that is gone'
}

function counts(found: number, view: FeedView, search: string, searching: boolean): string {
  const all = view.captures.length
  const words = search.trim() === '' ? `${all} requests` : `${found} of ${all} requests`
  const held = view.paused ? ` · paused, ${view.held} waiting` : ''
  return words + (searching ? ' · looking into bodies…' : '') + held
}

function Empty({ tunnels }: { tunnels: readonly Tunnel[] }) {
  const urls = tunnels.filter(({ public_url }) => /^https?:/.test(public_url))
  return (
    <div className="empty">
      <p>No requests yet.</p>
      {urls.length > 0 ? (
        <>
          <p>Make one to:</p>
          <ul>
            {urls.map(({ ID, public_url }) => (
              <li key={ID}>
                <a href={public_url} target="_blank" rel="noreferrer">
                  {public_url}
                </a>
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p>Start an HTTP tunnel, and what passes through it is shown here.</p>
      )}
    </div>
  )
}

async function collectHar(wanted: ReadonlySet<string>): Promise<object> {
  const { agent_version } = await getStatus()
  const found = []
  for (let before: string | undefined; found.length < wanted.size; ) {
    const page = await listCaptures(50, before, false)
    for (const capture of page) if (wanted.has(capture.id)) found.push(capture)
    before = page.at(-1)?.id
    if (before === undefined) break
  }
  return toHar(found.reverse(), agent_version)
}

function save(content: object, name: string): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
