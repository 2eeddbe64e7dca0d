import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import type { SearchHit, SearchResults } from '../../dashboard/page-data.ts'
import { api, errorMessage } from './api.ts'
import { displayName, pagePathOf } from './form/references.ts'
import { BreakableText, Notice, StrokeIcon } from './kit/index.ts'
import { canChange, useOpenApi } from './openapi.ts'
import { PAGE_ICONS } from './page-icons.ts'
import { pages } from './pages.ts'
import { go } from './route.ts'
import { useSession } from './session.ts'
import './search-dialog.css'

/** Waits for the next letter before the server is asked. */
const TYPING_PAUSE_MS = 150
const MAX_PAGES = 8

/** One line of the results. */
interface Result {
  readonly path: string
  readonly kind: string
  readonly name: string
  /** What matched, if that is not the name. */
  readonly detail: string
  /** The page whose icon it has. */
  readonly section: string
}

/** Finds pages, and everything of the account: type, choose with the arrow keys, open with Enter. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [query, setQuery] = useState('')
  const [selected, setSelected] = useState(0)
  const { found, errorText, searching } = useSearch(query)
  const pageResults = usePageResults(query)
  const results = [...pageResults, ...found.results]
  useLayoutEffect(() => {
    const element = dialog.current!
    if (!element.open) element.showModal()
    return () => element.close()
  }, [])
  useEffect(() => {
    document.getElementById(`${id}-${selected}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, selected])

  const open = (result: Result | undefined) => {
    if (result === undefined) return
    onClose()
    go(result.path)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && results.length > 0) {
      event.preventDefault()
      setSelected((selected + step + results.length) % results.length)
    }
    if (event.key === 'Enter') open(results[selected])
  }
  return (
    <dialog
      ref={dialog}
      className="search-dialog"
      aria-label="Search"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      // A click beside the dialog has the dialog itself as its target.
      onMouseDown={(event) => event.target === dialog.current && onClose()}
    >
      <input
        // Not a search field: Escape would empty it instead of closing the dialog.
        type="text"
        role="combobox"
        aria-label="Search everything"
        aria-expanded={results.length > 0}
        aria-controls={`${id}-results`}
        aria-activedescendant={results.length > 0 ? `${id}-${selected}` : undefined}
        aria-autocomplete="list"
        placeholder="Search pages, edges, domains, agents, users…"
        autoFocus
        maxLength={200}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value)
          setSelected(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div className="search-results" role="listbox" aria-label="Results" id={`${id}-results`}>
        {results.map((result, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the field, which keeps the focus.
          <div
            key={`${result.path} ${result.kind} ${result.name}`}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === selected}
            onMouseMove={() => setSelected(index)}
            onClick={() => open(result)}
          >
            <StrokeIcon path={PAGE_ICONS[result.section]} />
            <span className="search-name">
              <BreakableText text={result.name} />
              {result.detail && <span className="search-detail">{result.detail}</span>}
            </span>
            <span className="search-kind">{result.kind}</span>
          </div>
        ))}
      </div>
      <p className="search-status" role="status">
        {describeState({ query, searching, count: results.length, incomplete: found.incomplete })}
      </p>
      {errorText && <Notice kind="bad">{errorText}</Notice>}
    </dialog>
  )
}

function describeState(state: { query: string; searching: boolean; count: number; incomplete: boolean }) {
  if (state.query.trim() === '') return 'Type a name, an address, a label or an ID.'
  if (state.searching) return 'Searching…'
  if (state.count === 0) return 'No matches.'
  if (state.incomplete) return 'There may be more matches. Refine your search.'
  return state.count === 1 ? '1 match' : `${state.count} matches`
}

/** The pages whose title contains every word; forms only if the role allows them. */
function usePageResults(query: string): Result[] {
  const { role } = useSession().session
  const { document } = useOpenApi()
  const words = wordsOf(query)
  return pages
    .filter(({ path, title, adminOnly, changes }) => {
      if (path.includes(':') || (adminOnly && role !== 'admin')) return false
      if (
        changes !== undefined &&
        role !== 'admin' &&
        !(document && canChange(document, changes, role, false))
      )
        return false
      return words.length > 0 && words.every((word) => title.toLowerCase().includes(word))
    })
    .slice(0, MAX_PAGES)
    .map(({ path, title }) => ({
      path,
      kind: 'page',
      name: title,
      detail: '',
      section: path.replace(/\/new$/, ''),
    }))
}

const NOTHING = { results: [] as readonly Result[], incomplete: false }

/** Asks the server once typing pauses; results of an earlier query stay until then. */
function useSearch(query: string) {
  const [found, setFound] = useState(NOTHING)
  const [errorText, setErrorText] = useState<string>()
  const [answered, setAnswered] = useState('')
  const text = query.trim()
  useEffect(() => {
    if (text === '') return setFound(NOTHING)
    const controller = new AbortController()
    const timer = setTimeout(() => {
      api.get<SearchResults>(`/dashboard/api/search?q=${encodeURIComponent(text)}`, controller.signal).then(
        ({ hits, incomplete }) => {
          setFound({ results: rank(hits, wordsOf(text)), incomplete })
          setErrorText(undefined)
          setAnswered(text)
        },
        (error: unknown) => {
          if (controller.signal.aborted) return
          setErrorText(errorMessage(error))
          setAnswered(text)
        },
      )
    }, TYPING_PAUSE_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text])
  return { found, errorText, searching: answered !== text }
}

/** Results whose name begins with the first word come first, then those whose name contains it. */
function rank(hits: readonly SearchHit[], [word = '']: readonly string[]): Result[] {
  const scoreOf = ({ name }: Result) => {
    const position = name.toLowerCase().indexOf(word)
    return position === 0 ? 0 : position > 0 ? 1 : 2
  }
  return hits
    .flatMap((hit) => toResult(hit, word) ?? [])
    .toSorted((one, other) => scoreOf(one) - scoreOf(other))
}

function toResult({ id, kind, fields }: SearchHit, word: string): Result | undefined {
  const path = pathOf(id, fields)
  if (path === undefined) return undefined
  const name = nameOf(id, fields)
  const matching = Object.values(fields).find(
    (value) => typeof value === 'string' && value.toLowerCase().includes(word),
  )
  const detail = name.toLowerCase().includes(word) ? '' : String(matching ?? '')
  return { path, kind, name, detail, section: `/${path.split('/')[1]}` }
}

/** The page of a result: that of the thing itself, or of what it belongs to. */
function pathOf(id: string, fields: SearchHit['fields']): string | undefined {
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined)
  if (id.startsWith('ts_')) return `/agents/${id}`
  const parent = text('edge_id') ?? text('ip_policy_id')
  if (parent !== undefined) return pagePathOf(parent)
  const session = text('tunnel_session_id')
  return session === undefined ? pagePathOf(id) : `/agents/${session}`
}

function nameOf(id: string, fields: SearchHit['fields']): string {
  const name = displayName({ ...fields, id })
  if (name !== id) return name
  const [host] = Array.isArray(fields.hostports) ? (fields.hostports as string[]) : []
  return host ?? (typeof fields.match === 'string' ? fields.match : id)
}

const wordsOf = (query: string) => query.toLowerCase().split(/\s+/).filter(Boolean)
