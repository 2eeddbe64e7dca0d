import { hrefTo } from './route.ts'

/** The logo, which links to the start page. */
export function Brand() {
  return (
    <a className="brand" href={hrefTo('/')}>
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <path d="M3 29V16a13 13 0 0 1 26 0v13h-6V17a7 7 0 0 0-14 0v12z" />
        <circle cx="16" cy="21" r="3" />
      </svg>
      Adit
    </a>
  )
}
