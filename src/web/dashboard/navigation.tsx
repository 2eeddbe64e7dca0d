import { useEffect, useRef, useState } from 'react'
import { saveTheme, storedTheme, type Theme } from '../shared/theme.ts'
import { SegmentedControl, StrokeIcon } from './kit/index.ts'
import { type PageEntry, SECTIONS } from './page-contracts.ts'
import { PAGE_ICONS } from './page-icons.ts'
import { pages } from './pages.ts'
import { hrefTo } from './route.ts'
import { useSession } from './session.ts'

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'Auto'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

/** The navigation: pages by section. */
export function Navigation({ current, path }: { current: PageEntry | undefined; path: string }) {
  const { session } = useSession()
  const nav = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path decides which link is marked.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [path])
  const isAdmin = session.role === 'admin'
  const isOpen = (page: PageEntry) =>
    isWithin(page, path) || pages.some((tab) => tab.below === page.path && isWithin(tab, path))
  return (
    <nav ref={nav} aria-label="Pages" className="nav">
      {SECTIONS.map((section) => {
        const visiblePages = pages.filter((page) => page.section === section && (isAdmin || !page.adminOnly))
        if (visiblePages.length === 0) return null
        return (
          <div key={section} className="nav-section">
            {section && <h2>{section}</h2>}
            <ul>
              {visiblePages.map((page) => (
                <li key={page.path}>
                  <a
                    href={hrefTo(page.path)}
                    aria-current={page === current ? 'page' : isOpen(page) ? 'true' : undefined}
                  >
                    <StrokeIcon path={PAGE_ICONS[page.path]} />
                    {page.title}
                  </a>
                </li>
              ))}
              {section === 'Account' && (
                <li>
                  <a href="/docs/" target="_blank" rel="noreferrer">
                    <StrokeIcon path={PAGE_ICONS['/docs']} />
                    Documentation <span aria-hidden="true">↗</span>
                  </a>
                </li>
              )}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}

const isWithin = (page: PageEntry, path: string) => `${path}/`.startsWith(`${page.path}/`)

/** The page of the navigation that the current page belongs to, and the pages below it. */
export function PageTabs({ current }: { current: PageEntry }) {
  const root = current.below ?? current.path
  const tabs = pages.filter(({ below }) => below === root)
  if (tabs.length === 0) return null
  return (
    <nav className="page-tabs" aria-label="Related pages">
      {[...pages.filter(({ path }) => path === root), ...tabs].map((page) => (
        <a key={page.path} href={hrefTo(page.path)} aria-current={page === current ? 'page' : undefined}>
          {page.title}
        </a>
      ))}
    </nav>
  )
}

/** Chooses the theme, which is stored in the browser. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme)
  return (
    <SegmentedControl
      name="theme"
      legend="Theme"
      options={THEMES}
      value={theme}
      onValue={(value) => {
        saveTheme(value)
        setTheme(value)
      }}
    />
  )
}
