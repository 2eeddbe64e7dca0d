import { Component, type ReactNode, useEffect } from 'react'
import { ApiError, api } from './api.ts'
import { Button, EmptyState, Loading, Page } from './kit/index.ts'

const POLL_INTERVAL_MS = 2000
/** A file that cannot be loaded at all must not reload its page for ever. */
const MIN_RELOAD_INTERVAL_MS = 30_000
/** How browsers say that the script of a page could not be fetched, and Vite that its style could not be. */
const SCRIPT_NOT_LOADED =
  /dynamically imported module|importing a module script failed|unable to preload css/i

/** Shows an error instead of a page that failed. A page whose script could not be loaded is reloaded when it can be. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state = { error: undefined as Error | undefined }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    if (SCRIPT_NOT_LOADED.test(error.message) && mayReload(error)) return <ReloadOnResponse error={error} />
    return (
      <Page title="Page error">
        <EmptyState
          title="Something went wrong"
          action={<Button onClick={() => location.reload()}>Reload page</Button>}
        >
          {error.message} If the server was updated in the meantime, reload the page.
        </EmptyState>
      </Page>
    )
  }
}

function mayReload(error: Error): boolean {
  return Date.now() - Number(sessionStorage.getItem(reloadKey(error))) > MIN_RELOAD_INTERVAL_MS
}

/** The message names the file in most browsers; the others have the page. */
function reloadKey({ message }: Error): string {
  return `adit.reloaded-at ${location.hash} ${message}`
}

function ReloadOnResponse({ error }: { error: Error }) {
  useEffect(() => {
    const poll = async () => {
      const responds = await api.get('/dashboard/api/session').then(
        () => true,
        (error) => error instanceof ApiError && !error.isOutage,
      )
      if (!responds) return
      sessionStorage.setItem(reloadKey(error), String(Date.now()))
      location.reload()
    }
    void poll()
    const timer = setInterval(() => void poll(), POLL_INTERVAL_MS)
    return () => clearInterval(timer)
  }, [error])
  return (
    <Page title="Waiting for the server">
      <Loading label="The server is not responding. This page continues once it does" />
    </Page>
  )
}
