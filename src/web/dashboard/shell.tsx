import {
  Component,
  type ComponentType,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useRef,
  useState,
} from 'react'
import { useKeys } from '../shared/use-keys.ts'
import { Brand } from './brand.tsx'
import { Help } from './help.tsx'
import { Button, ButtonLink, EmptyState, Loading, notify, Page, Toast } from './kit/index.ts'
import { Navigation } from './navigation.tsx'
import { type PageEntry, type PageProps, pages } from './pages.ts'
import { go, matchPath, type PageLocation, usePageLocation } from './route.ts'
import { useSession } from './session.ts'

const GO_TIMEOUT_MS = 1500

/** Loaded when they are first opened, so that the first page does not wait for all. */
const components = new Map<PageEntry, ComponentType<PageProps>>()

function componentOf(page: PageEntry): ComponentType<PageProps> {
  const component = components.get(page) ?? lazy(page.load)
  components.set(page, component)
  return component
}

function findPage({ path }: PageLocation): { page: PageEntry; params: Record<string, string> } | undefined {
  const targetPath = path === '/' ? pages[0]!.path : path
  for (const page of pages) {
    const params = matchPath(page.path, targetPath)
    if (params) return { page, params }
  }
  return undefined
}

/** Navigation, keys, and the page that the address names. */
export function Shell() {
  const location = usePageLocation()
  const { session, signOut } = useSession()
  const [help, setHelp] = useState(false)
  const [open, setOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const match = findPage(location)
  const goShortcut = useGoShortcut()

  const first = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the change of place that matters.
  useEffect(() => {
    setOpen(false)
    scrollTo(0, 0)
    // The keyboard goes on in the new page, unless a field of it has the focus already.
    if (!first.current && !main.current?.contains(document.activeElement))
      main.current?.focus({ preventScroll: true })
    first.current = false
  }, [location.path])

  const move = (step: number) => {
    const links = [...(main.current?.querySelectorAll<HTMLElement>('.table tbody th a') ?? [])]
    const index = links.indexOf(document.activeElement as HTMLElement)
    links[index < 0 ? (step > 0 ? 0 : links.length - 1) : index + step]?.focus()
  }
  useKeys([
    ['?', () => setHelp(true)],
    ['/', () => main.current?.querySelector<HTMLElement>('input[type=search]')?.focus()],
    ['g', goShortcut.begin],
    ['j', () => move(1)],
    ['k', () => move(-1)],
    ['n', () => main.current?.querySelector<HTMLElement>('[data-key=n]')?.click()],
    ['e', () => main.current?.querySelector<HTMLElement>('[data-key=e]')?.click()],
  ])

  const leaveSession = () => signOut().catch((error: Error) => notify(error.message))
  const PageComponent = match && componentOf(match.page)
  return (
    <div className="shell">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header className="bar-top">
        <Brand />
        <Button kind="quiet" aria-expanded={open} aria-controls="navigation" onClick={() => setOpen(!open)}>
          Menu
        </Button>
      </header>
      <aside className={open ? 'side open' : 'side'} id="navigation">
        <Brand />
        <Navigation current={match?.page} path={location.path} />
        <footer className="side-foot">
          <p className="who">{session.user?.email ?? 'Signed in with an API key'}</p>
          <div className="side-buttons">
            <Button kind="quiet" onClick={() => setHelp(true)}>
              Help
            </Button>
            <Button kind="quiet" onClick={() => void leaveSession()}>
              Sign out
            </Button>
          </div>
        </footer>
      </aside>
      <main ref={main} id="main" tabIndex={-1}>
        <ErrorBoundary key={location.path}>
          <Suspense fallback={<Loading />}>
            {match && PageComponent ? (
              <PageComponent key={location.path} params={match.params} query={location.query} />
            ) : (
              <NotFound path={location.path} />
            )}
          </Suspense>
        </ErrorBoundary>
      </main>
      <Toast />
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  )
}

/** `g` and then the letter of a page, within a moment. */
function useGoShortcut(): { begin(): void } {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const onSecondKey = useRef<(event: KeyboardEvent) => void>(undefined)
  const stop = () => {
    clearTimeout(timer.current)
    if (onSecondKey.current) removeEventListener('keydown', onSecondKey.current, true)
  }
  return {
    begin() {
      stop()
      onSecondKey.current = (event) => {
        stop()
        const page = pages.find(({ key }) => key === event.key)
        if (!page || event.ctrlKey || event.metaKey || event.altKey) return
        event.preventDefault()
        event.stopPropagation()
        go(page.path)
      }
      addEventListener('keydown', onSecondKey.current, true)
      timer.current = setTimeout(stop, GO_TIMEOUT_MS)
    },
  }
}

function NotFound({ path }: { path: string }) {
  return (
    <Page title="Nothing here">
      <EmptyState title="There is no such page" action={<ButtonLink to="/">To the first page</ButtonLink>}>
        The address {path} leads nowhere. Perhaps it is from another version of the dashboard.
      </EmptyState>
    </Page>
  )
}

/** Keeps a fault of one page from taking the navigation with it. */
class ErrorBoundary extends Component<{ children: ReactNode }, { fault: Error | undefined }> {
  override state = { fault: undefined as Error | undefined }

  static getDerivedStateFromError(fault: Error) {
    return { fault }
  }

  override render() {
    const { fault } = this.state
    if (!fault) return this.props.children
    return (
      <Page title="This page failed">
        <EmptyState
          title="Something went wrong here"
          action={<Button onClick={() => location.reload()}>Load the page again</Button>}
        >
          {fault.message} If the server was updated meanwhile, loading the page again helps.
        </EmptyState>
      </Page>
    )
  }
}
