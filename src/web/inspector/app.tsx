import { type MouseEvent, useEffect, useState, useSyncExternalStore } from 'react'
import { saveTheme, storedTheme, type Theme } from '../shared/theme.ts'
import { CaptureFeed, type FeedView } from './capture-feed.ts'
import { InspectPage } from './inspect-page.tsx'
import { StatusPage } from './status-page.tsx'

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'Auto'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

/** The state of the way from this page over the agent to the server: what is broken first, and what that means. */
function describeState({ state, session }: FeedView): { kind: string; label: string; note?: string } {
  if (state === 'connecting') return { kind: 'connecting', label: 'Connecting to the agent' }
  if (state === 'lost')
    return {
      kind: 'lost',
      label: 'Agent not reachable',
      note: 'The agent has stopped or does not respond. The requests below are the last it sent; this page reconnects automatically.',
    }
  if (session === 'online' || session === '') return { kind: 'live', label: 'Online' }
  return {
    kind: 'waiting',
    label: session === 'reconnecting' ? 'Reconnecting to the server' : 'Connecting to the server',
    note: 'The agent has no connection to the server, so visitors cannot reach the tunnels. It retries automatically; replays still work.',
  }
}

/** Both pages of the agent under one header; the feed stays connected while the status page is open. */
export function App() {
  const [feed] = useState(() => new CaptureFeed())
  const view = useSyncExternalStore(feed.follow, feed.view)
  const [path, setPath] = useState(location.pathname)
  useEffect(() => {
    feed.start()
    return () => feed.stop()
  }, [feed])
  useEffect(() => {
    const onPopState = () => setPath(location.pathname)
    addEventListener('popstate', onPopState)
    return () => removeEventListener('popstate', onPopState)
  }, [])

  const state = describeState(view)
  const isStatusPage = path === '/status'
  useEffect(() => {
    document.title = isStatusPage ? 'Status · Adit' : 'Inspector · Adit'
  }, [isStatusPage])
  const navigate = (event: MouseEvent<HTMLAnchorElement>) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    history.pushState(null, '', event.currentTarget.pathname)
    setPath(location.pathname)
  }
  return (
    <>
      <header className="top">
        <span className="brand">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <path d="M3 29V16a13 13 0 0 1 26 0v13h-6V17a7 7 0 0 0-14 0v12z" />
            <circle cx="16" cy="21" r="3" />
          </svg>
          Adit
        </span>
        <nav aria-label="Pages">
          <a href="/inspect/http" onClick={navigate} aria-current={isStatusPage ? undefined : 'page'}>
            Inspect
          </a>
          <a href="/status" onClick={navigate} aria-current={isStatusPage ? 'page' : undefined}>
            Status
          </a>
        </nav>
        <ThemeSwitch />
        <span className={`state ${state.kind}`} role="status">
          {state.label}
        </span>
      </header>
      {state.note !== undefined && <p className="outage">{state.note}</p>}
      {isStatusPage ? <StatusPage /> : <InspectPage feed={feed} view={view} />}
    </>
  )
}

/** Switches to the next theme. */
function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme)
  const index = THEMES.findIndex(([value]) => value === theme)
  const switchTheme = () => {
    const [next] = THEMES[(index + 1) % THEMES.length]!
    saveTheme(next)
    setTheme(next)
  }
  return (
    <button type="button" className="theme" onClick={switchTheme}>
      Theme: {THEMES[index]![1]}
    </button>
  )
}
