import { useEffect, useRef, useState } from 'react'
import { type PageEntry, pages, SECTIONS } from './pages.ts'
import { hrefTo } from './route.ts'
import { useSession } from './session.ts'
import { chooseTheme, chosenTheme, type Theme } from './theme.ts'

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'Auto'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

/** The pages by section. */
export function Navigation({ current, path }: { current: PageEntry | undefined; path: string }) {
  const { session } = useSession()
  const nav = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is marked when the path changes.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [path])
  const admin = session.user === null || session.user.role === 'admin'
  return (
    <>
      <nav ref={nav} aria-label="Pages" className="nav">
        {SECTIONS.map((section) => {
          const shown = pages.filter((page) => page.section === section && (admin || !page.adminOnly))
          if (shown.length === 0) return null
          return (
            <div key={section} className="nav-section">
              {section && <h2>{section}</h2>}
              <ul>
                {shown.map((page) => (
                  <li key={page.path}>
                    <a
                      href={hrefTo(page.path)}
                      aria-current={
                        page === current ? 'page' : path.startsWith(`${page.path}/`) ? 'true' : undefined
                      }
                    >
                      {page.title}
                    </a>
                  </li>
                ))}
                {section === 'Account' && (
                  <li>
                    <a href="/reference" target="_blank" rel="noreferrer">
                      API reference <span aria-hidden="true">↗</span>
                    </a>
                  </li>
                )}
              </ul>
            </div>
          )
        })}
      </nav>
      <ThemeSwitch />
    </>
  )
}

function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme)
  return (
    <fieldset className="theme">
      <legend className="hidden">Theme</legend>
      {THEMES.map(([value, label]) => (
        <label key={value}>
          <input
            type="radio"
            name="theme"
            checked={theme === value}
            onChange={() => {
              chooseTheme(value)
              setTheme(value)
            }}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  )
}
