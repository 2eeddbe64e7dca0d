import { type MouseEvent, useEffect, useState, useSyncExternalStore } from 'react'
import { CaptureFeed } from './capture-feed.ts'
import { InspectPage } from './inspect-page.tsx'
import { StatusPage } from './status-page.tsx'

const STATE_LABELS = { connecting: 'Connecting', live: 'Live', lost: 'Agent not reachable' }

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
        <span className={`state ${view.state}`} role="status">
          {STATE_LABELS[view.state]}
        </span>
      </header>
      {isStatusPage ? <StatusPage /> : <InspectPage feed={feed} view={view} />}
    </>
  )
}
