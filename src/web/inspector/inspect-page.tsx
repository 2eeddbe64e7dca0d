import { type ReactNode, type RefObject, useCallback, useEffect, useRef, useState } from 'react'
import type { CaptureView, ReplayChanges, TunnelView } from '../../agent/local-api/page-data.ts'
import { formatTimeOfDay } from '../shared/time.tsx'
import { type KeyBinding, useKeys } from '../shared/use-keys.ts'
import {
  clearCaptures,
  getStatus,
  LocalApiError,
  listCaptures,
  listTunnels,
  pinCapture,
  replayCapture,
} from './api.ts'
import type { CaptureFeed, FeedView } from './capture-feed.ts'
import { Help } from './help.tsx'
import type { Tab } from './message/message-view.tsx'
import { saveFile } from './message/save-file.ts'
import { Detail } from './requests/detail.tsx'
import { DiffView } from './requests/diff-view.tsx'
import { toHar } from './requests/har.ts'
import { QUERY_FIELDS } from './requests/query.ts'
import { replayBlockedReason } from './requests/replayable.ts'
import { RequestList } from './requests/request-list.tsx'
import { useMatches } from './requests/use-matches.ts'
import { TunnelUrls } from './tunnel-urls.tsx'

const BASE_PATH = '/inspect/http'

/** The list of requests next to the selected one. */
export function InspectPage({ feed, view }: { feed: CaptureFeed; view: FeedView }) {
  const [search, setSearch] = useState('')
  const [selected, setSelected] = useState(parseSelectedId)
  const [opened, setOpened] = useState(selected !== undefined)
  const [tab, setTab] = useState<{ request: Tab; response: Tab }>({ request: 'Summary', response: 'Summary' })
  /** The id of the request being edited for a replay. */
  const [editedId, setEditedId] = useState<string>()
  /** The id of the request that others are compared with. */
  const [baseId, setBaseId] = useState<string>()
  const [help, setHelp] = useState(false)
  const { notice, setNotice, attempt } = useNotice()
  const { tunnels, areTunnelsKnown, refreshTunnels } = useTunnels(view)
  const searchBox = useRef<HTMLInputElement>(null)
  const { matches, searching, problem } = useMatches(view.captures, search)

  const select = useCallback((id: string | undefined) => {
    setSelected(id)
    history.replaceState(null, '', id === undefined ? BASE_PATH : `${BASE_PATH}/${id}`)
  }, [])
  const sendReplay = useReplay(view.captures, select)

  const current = view.captures.find(({ id }) => id === selected)
  const loadOlder = () => void feed.loadOlder()
  // A search finds older ones too, and a link may lead to one.
  const needsOlder = search.trim() !== '' || (selected !== undefined && current === undefined)
  useEffect(() => {
    if (view.hasOlder && needsOlder) void feed.loadOlder()
  }, [feed, view.hasOlder, needsOlder])
  const send = async (
    capture: CaptureView,
    changes: ReplayChanges | undefined,
    tunnelName: string | undefined,
  ) => {
    const text = await sendReplay(capture, changes, tunnelName)
    refreshTunnels()
    return text
  }
  const { replay, pin, exportHar } = captureActions({
    attempt,
    current,
    matches,
    hasOlder: view.hasOlder,
    send,
  })
  const sendEdited = async (changes: ReplayChanges, tunnelName: string) => {
    if (!current) throw new Error('the agent no longer stores this request.')
    setNotice(await send(current, changes, tunnelName === current.tunnel_name ? undefined : tunnelName))
    setEditedId(undefined)
  }
  const edit = (editing: boolean) => {
    if (selected === undefined) return
    setEditedId(editing ? selected : undefined)
    setOpened(true)
  }
  const move = (nextIndex: (index: number) => number) => {
    if (matches.length === 0) return
    const index = matches.findIndex(({ id }) => id === selected)
    select(matches[Math.max(0, Math.min(matches.length - 1, index < 0 ? 0 : nextIndex(index)))]?.id)
  }
  const compare = () => setBaseId(baseId === undefined ? selected : undefined)
  const goBack = () => {
    if (editedId !== undefined && editedId === selected) setEditedId(undefined)
    else if (opened) setOpened(false)
    else if (baseId !== undefined) setBaseId(undefined)
    else setSearch('')
  }
  const showHelp = () => setHelp(true)
  const pause = () => feed.pause(!view.paused)
  useKeys([
    ...movementKeys(move, matches.length),
    ...tabKeys((name) => setTab({ request: name, response: name })),
    ['Enter', () => selected !== undefined && setOpened(true)],
    ['/', () => searchBox.current?.select()],
    ['r', () => replay()],
    ['e', () => edit(true)],
    ['d', compare],
    ['s', pin],
    ['p', pause],
    ['?', showHelp],
    ['Escape', goBack],
  ])

  const clear = () =>
    void attempt(async () => {
      await clearCaptures()
      select(undefined)
      setBaseId(undefined)
      setOpened(false)
      return 'Cleared. Pinned requests stay.'
    })

  return (
    <main className={`inspect${opened && selected !== undefined ? ' opened' : ''}`}>
      <h1 className="hidden">Captured requests</h1>
      <section className="list" aria-label="Requests">
        {/* Nothing before the tunnels at its top are known: it would move when they come. */}
        {areTunnelsKnown && (
          <>
            <TunnelUrls tunnels={tunnels} onNotify={setNotice} />
            <Toolbar
              paused={view.paused}
              onPause={pause}
              onClear={view.captures.length === 0 ? undefined : clear}
              onExport={matches.length === 0 ? undefined : exportHar}
              onHelp={showHelp}
            >
              <SearchInput ref={searchBox} value={search} onValue={setSearch} />
            </Toolbar>
            <p className="counts" id="search-help">
              {problem ?? formatCounts(matches.length, view, search, searching)}
              <span className="hidden">Fields: {QUERY_FIELDS}.</span>
            </p>
            {baseId !== undefined && (
              <Comparing name={describeCapture(view.captures, baseId)} onStop={() => setBaseId(undefined)} />
            )}
            {view.captures.length === 0 ? (
              <Empty tunnels={tunnels} />
            ) : (
              <RequestList
                captures={matches}
                selected={selected}
                onSelect={select}
                onOpen={() => setOpened(true)}
                onEnd={loadOlder}
              />
            )}
          </>
        )}
      </section>
      <section className="detail" aria-label="Request">
        {selected === undefined ? (
          view.captures.length > 0 && <p className="hint">Select a request. Press ? for keys.</p>
        ) : baseId !== undefined && baseId !== selected ? (
          <DiffView
            key={`${baseId} ${selected}`}
            left={baseId}
            right={selected}
            onStop={() => setBaseId(undefined)}
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
            editing={editedId === selected}
            onEdit={edit}
            onSend={sendEdited}
            comparing={baseId === selected}
            onCompare={compare}
            onPin={pin}
            onBack={() => setOpened(false)}
            onNotify={setNotice}
          />
        )}
      </section>
      <div className="said" role="status">
        {notice !== '' && <p>{notice}</p>}
      </div>
      {help && <Help onClose={() => setHelp(false)} />}
    </main>
  )
}

/** What the buttons and keys do with the selected request and with those of the list. */
function captureActions({
  attempt,
  current,
  matches,
  hasOlder,
  send,
}: {
  attempt: ReturnType<typeof useNotice>['attempt']
  current: CaptureView | undefined
  matches: readonly CaptureView[]
  /** The matches are all that is known, and the agent has more. */
  hasOlder: boolean
  send: ReturnType<typeof useReplay>
}) {
  const replay = (tunnelName?: string) =>
    void attempt(async () => {
      if (!current) return 'Select a request to replay.'
      const reason = replayBlockedReason(current)
      if (reason !== undefined) return reason
      return send(current, undefined, tunnelName)
    })
  const pin = () =>
    void attempt(async () => {
      if (!current) return 'Select a request to pin.'
      await pinCapture(current.id, !current.pinned)
      return current.pinned ? 'Unpinned.' : 'Pinned: it stays when others are cleared or evicted.'
    })
  const exportHar = () =>
    void attempt(async () => {
      const captures = await collectCaptures(hasOlder ? undefined : new Set(matches.map(({ id }) => id)))
      const har = await toHar(captures.reverse(), (await getStatus()).agent_version)
      saveFile(JSON.stringify(har, null, 1), 'adit.har', 'application/json')
      return `Exported ${countRequests(captures.length)}.`
    })
  return { replay, pin, exportHar }
}

/** The keys that select another request of a list. */
function movementKeys(move: (nextIndex: (index: number) => number) => void, length: number): KeyBinding[] {
  return [
    ['j ArrowDown', () => move((index) => index + 1)],
    ['k ArrowUp', () => move((index) => index - 1)],
    ['PageDown', () => move((index) => index + 10)],
    ['PageUp', () => move((index) => index - 10)],
    ['g Home', () => move(() => 0)],
    ['G End', () => move(() => length - 1)],
  ]
}

/** The keys that choose how a message is shown. */
function tabKeys(show: (tab: Tab) => void): KeyBinding[] {
  return [
    ['1', () => show('Summary')],
    ['2', () => show('Headers')],
    ['3', () => show('Raw')],
    ['4', () => show('Binary')],
  ]
}

/** A text that disappears after a while, and a way to run work whose outcome becomes that text. */
function useNotice() {
  const [notice, setNotice] = useState('')
  useEffect(() => {
    if (notice === '') return
    const timer = setTimeout(() => setNotice(''), 6000)
    return () => clearTimeout(timer)
  }, [notice])
  const attempt = useCallback(async (work: () => Promise<string | undefined>) => {
    try {
      setNotice((await work()) ?? '')
    } catch (error) {
      setNotice(error instanceof LocalApiError ? error.message : `Failed: ${(error as Error).message}`)
    }
  }, [])
  return { notice, setNotice, attempt }
}

function useTunnels({ state, session }: FeedView) {
  const [tunnels, setTunnels] = useState<readonly TunnelView[]>()
  const refreshTunnels = useCallback(() => {
    listTunnels().then(setTunnels, () => setTunnels((known = []) => known))
  }, [])
  useEffect(() => {
    if (state !== 'lost') refreshTunnels()
    // Tunnels may have other URLs after the agent has connected again.
    void session
  }, [state, session, refreshTunnels])
  return {
    tunnels: tunnels ?? [],
    areTunnelsKnown: tunnels !== undefined || state === 'lost',
    refreshTunnels,
  }
}

/**
 * Replays captures. The call returns before the feed delivers the new capture, which is selected once it arrives; the
 * result says what was replayed.
 */
function useReplay(captures: readonly CaptureView[], select: (id: string) => void) {
  const pendingReplay = useRef<{ after: string; method: string; uri: string } | undefined>(undefined)
  useEffect(() => {
    const pending = pendingReplay.current
    if (!pending) return
    const capture = captures.find(
      ({ id, request }) =>
        id > pending.after && request.method === pending.method && request.uri === pending.uri,
    )
    if (!capture) return
    pendingReplay.current = undefined
    select(capture.id)
  }, [captures, select])
  return async (
    { id, request }: CaptureView,
    changes: ReplayChanges | undefined,
    tunnelName: string | undefined,
  ) => {
    const { method, path: uri } = { method: request.method, path: request.uri, ...changes }
    pendingReplay.current = { after: captures[0]?.id ?? '', method, uri }
    await replayCapture(id, tunnelName, changes)
    return `Replayed ${method} ${uri.slice(0, 60)}${tunnelName === undefined ? '' : ` to ${tunnelName}`}.`
  }
}

interface ToolbarProps {
  paused: boolean
  onPause(): void
  /** Undefined when there is nothing to clear or to export. */
  onClear: (() => void) | undefined
  onExport: (() => void) | undefined
  onHelp(): void
  children: ReactNode
}

function Toolbar({ paused, onPause, onClear, onExport, onHelp, children }: ToolbarProps) {
  return (
    <search className="bar">
      {children}
      <button type="button" onClick={onPause} aria-pressed={paused}>
        {paused ? 'Resume' : 'Pause'}
      </button>
      <button type="button" onClick={onClear} disabled={onClear === undefined}>
        Clear
      </button>
      <button type="button" onClick={onExport} disabled={onExport === undefined}>
        HAR
      </button>
      <button type="button" onClick={onHelp} aria-label="Help">
        ?
      </button>
    </search>
  )
}

function Comparing({ name, onStop }: { name: string; onStop(): void }) {
  return (
    <div className="comparing">
      <p role="status">Comparing with {name}. Select another request.</p>
      <button type="button" onClick={onStop}>
        Stop
      </button>
    </div>
  )
}

interface SearchInputProps {
  ref: RefObject<HTMLInputElement | null>
  value: string
  onValue(value: string): void
}

function SearchInput({ ref, value, onValue }: SearchInputProps) {
  return (
    <input
      ref={ref}
      type="search"
      value={value}
      onChange={(event) => onValue(event.target.value)}
      placeholder="Search  ( / )"
      aria-label="Search requests"
      aria-describedby="search-help"
      spellCheck={false}
      autoComplete="off"
    />
  )
}

/** The id of the request in the page's address. */
function parseSelectedId(): string | undefined {
  return /^\/inspect\/http\/(airt_\w+)$/.exec(location.pathname)?.[1]
}

/** A short description of a request. */
function describeCapture(captures: readonly CaptureView[], id: string): string {
  const { request, start } = captures.find((capture) => capture.id === id) ?? {}
  return request
    ? `${request.method} ${request.uri.slice(0, 60)} at ${formatTimeOfDay(start!)}`
    : 'an evicted request'
}

function formatCounts(matchCount: number, view: FeedView, search: string, searching: boolean): string {
  const total = view.captures.length
  const totalText = view.hasOlder ? `${total}+ requests` : countRequests(total)
  const countText = search.trim() === '' ? totalText : `${matchCount} of ${totalText}`
  const pauseText = view.paused ? ` · paused, ${view.pendingCount} waiting` : ''
  return countText + (searching ? ' · searching bodies…' : '') + pauseText
}

function Empty({ tunnels }: { tunnels: readonly TunnelView[] }) {
  const urls = tunnels.filter(({ public_url }) => /^https?:/.test(public_url))
  return (
    <div className="empty">
      <p>No requests yet.</p>
      {urls.length > 0 ? (
        <>
          <p>Send a request to:</p>
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
        <p>Start an HTTP tunnel to see its requests here.</p>
      )}
    </div>
  )
}

/** The captures with these ids, or all, with their bytes; newest first. */
async function collectCaptures(ids: ReadonlySet<string> | undefined): Promise<CaptureView[]> {
  const captures: CaptureView[] = []
  for (let beforeId: string | undefined; captures.length !== ids?.size; ) {
    const page = await listCaptures(50, beforeId, false)
    captures.push(...page.filter(({ id }) => ids?.has(id) ?? true))
    beforeId = page.at(-1)?.id
    if (beforeId === undefined) break
  }
  return captures
}

const countRequests = (count: number) => (count === 1 ? '1 request' : `${count} requests`)
