import { type ComponentType, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { useKeys } from '../shared/use-keys.ts'
import { Brand } from './brand.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { Help } from './help.tsx'
import {
  Button,
  ButtonLink,
  DiscardQuestion,
  EmptyState,
  LoadError,
  Loading,
  Notice,
  notify,
  Page,
  StrokeIcon,
  Toast,
  useApi,
} from './kit/index.ts'
import { Navigation, PageTabs, ThemeSwitch } from './navigation.tsx'
import { useOpenApi } from './openapi.ts'
import type { PageEntry, PageProps } from './page-contracts.ts'
import { SEARCH_ICON } from './page-icons.ts'
import type { PlatformInfo } from './pages/platform.ts'
import { pages } from './pages.ts'
import { go, matchPath, type PageLocation, usePageLocation } from './route.ts'
import { SearchDialog } from './search-dialog.tsx'
import { useCanChangeAt, useSession } from './session.ts'
import { usePendingPage } from './unsaved.ts'

const GO_TIMEOUT_MS = 1500
const DATABASE_CHECK_MS = 10_000
const IS_MAC = /Mac|iP(hone|ad)/.test(navigator.platform)

/** Page components, loaded on first use to keep the initial bundle small. */
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

/** The frame of the dashboard: navigation, keyboard shortcuts, and the current page. */
export function Shell() {
  const location = usePageLocation()
  const { session, signOut } = useSession()
  const [help, setHelp] = useState(false)
  const [search, setSearch] = useState(false)
  const [open, setOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const match = findPage(location)
  const goShortcut = useGoShortcut()
  const pendingPage = usePendingPage()

  const first = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of path matters.
  useEffect(() => {
    setOpen(false)
    scrollTo(0, 0)
    // Moves the focus to the new page, unless one of its fields already has it.
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

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key !== 'k') return
      // Not above another dialog, whose work would be lost.
      if (document.querySelector('dialog[open]')) return
      event.preventDefault()
      setSearch(true)
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])

  const leaveSession = () => signOut().catch((error: Error) => notify(error.message))
  const PageComponent = match && componentOf(match.page)
  return (
    <div className="shell">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header className="bar-top">
        <Brand />
        <SearchButton onOpen={() => setSearch(true)} />
        <Button kind="quiet" aria-expanded={open} aria-controls="navigation" onClick={() => setOpen(!open)}>
          Menu
        </Button>
      </header>
      <aside className={open ? 'side open' : 'side'} id="navigation">
        <Brand />
        <SearchButton onOpen={() => setSearch(true)} />
        <Navigation current={match?.page} path={location.path} />
        <footer className="side-foot">
          <p className="user" title={session.user?.email}>
            {session.user?.email ?? 'Signed in with an API key'}
          </p>
          <ThemeSwitch />
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
        {match && <PageTabs current={match.page} />}
        <DatabaseNotice />
        <ErrorBoundary key={location.path}>
          <Suspense fallback={<Loading />}>
            {match && PageComponent ? (
              <RoleGuard key={location.path} page={match.page}>
                <PageComponent params={match.params} query={location.query} />
              </RoleGuard>
            ) : (
              <NotFound path={location.path} />
            )}
          </Suspense>
        </ErrorBoundary>
      </main>
      <Toast />
      {pendingPage && <DiscardQuestion onStay={pendingPage.stay} onDiscard={pendingPage.discard} />}
      {search && <SearchDialog onClose={() => setSearch(false)} />}
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  )
}

/** Says that what pages show may be out of date. */
function DatabaseNotice() {
  const { value } = useApi<PlatformInfo>('/dashboard/api/platform', { everyMs: DATABASE_CHECK_MS })
  if (value?.database !== 'unavailable') return null
  return (
    <Notice kind="warn">
      The server cannot use its database: changes are rejected, and what you see may be out of date.
    </Notice>
  )
}

/** Opens the search over everything. */
function SearchButton({ onOpen }: { onOpen: () => void }) {
  return (
    <button type="button" className="search-button" onClick={onOpen}>
      <StrokeIcon path={SEARCH_ICON} />
      Search
      <span className="search-keys" aria-hidden="true">
        <kbd>{IS_MAC ? '⌘' : 'Ctrl'} K</kbd>
      </span>
    </button>
  )
}

/** Opens a page on `g` followed by its letter within `GO_TIMEOUT_MS`. */
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

/** Shows a notice instead of a page that the role of the user does not allow. */
function RoleGuard({ page, children }: { page: PageEntry; children: ReactNode }) {
  const { role } = useSession().session
  const needsDocument = page.changes !== undefined && role !== 'admin'
  const { document, error } = useOpenApi(needsDocument)
  const mayChange = useCanChangeAt(page.changes ?? '')
  if (needsDocument && document === undefined) return error ? <LoadError error={error} /> : <Loading />
  if (page.adminOnly ? role === 'admin' : page.changes === undefined || mayChange) return children
  return (
    <Page title={page.title}>
      <EmptyState title="Not allowed" action={<ButtonLink to="/">Go to the overview</ButtonLink>}>
        {role === 'read_only' && !page.adminOnly
          ? 'Your role can view this account, but not change it. Ask an administrator for another role.'
          : 'Only administrators can open this page.'}
      </EmptyState>
    </Page>
  )
}

function NotFound({ path }: { path: string }) {
  return (
    <Page title="Not found">
      <EmptyState title="Page not found" action={<ButtonLink to="/">Go to the overview</ButtonLink>}>
        There is no page at {path}. The link may be from another version of the dashboard.
      </EmptyState>
    </Page>
  )
}
