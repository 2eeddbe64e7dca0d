import { Button } from './button.tsx'

/** Moves between the pages of a list, and says which rows are shown. */
export function Pager({
  page,
  pageSize,
  matching,
  onPage,
}: {
  /** Begins at 1. */
  page: number
  pageSize: number
  /** The rows of all pages. */
  matching: number
  onPage: (page: number) => void
}) {
  const pages = Math.ceil(matching / pageSize)
  if (pages <= 1 && page === 1) return null
  const first = Math.min((page - 1) * pageSize + 1, matching)
  return (
    <nav className="table-foot" aria-label="Pages of the list">
      <Button disabled={page <= 1} onClick={() => onPage(Math.min(page - 1, pages))}>
        Previous
      </Button>
      <span role="status">
        {first}–{Math.min(page * pageSize, matching)} of {matching.toLocaleString('en')}
      </span>
      <Button disabled={page >= pages} onClick={() => onPage(page + 1)}>
        Next
      </Button>
    </nav>
  )
}
