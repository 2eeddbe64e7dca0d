import type { TunnelView } from '../../agent/local-api/page-data.ts'

/** The public URLs of the HTTP tunnels, with where each leads. */
export function TunnelUrls({
  tunnels,
  onNotify,
}: {
  tunnels: readonly TunnelView[]
  onNotify(text: string): void
}) {
  const httpTunnels = tunnels.filter(({ public_url }) => /^https?:/.test(public_url))
  const copy = async (url: string) => {
    try {
      await navigator.clipboard.writeText(url)
      onNotify('Copied the URL.')
    } catch {
      onNotify('The browser denied access to the clipboard.')
    }
  }
  if (httpTunnels.length === 0) return null
  return (
    <ul className="urls" aria-label="Tunnels">
      {httpTunnels.map(({ ID, name, public_url, config }) => (
        <li key={ID}>
          <a href={public_url} target="_blank" rel="noreferrer">
            {public_url}
          </a>
          <span className="upstream">{`→\u00a0${config.addr}`}</span>
          <button
            type="button"
            aria-label={`Copy the URL of ${name || public_url}`}
            onClick={() => void copy(public_url)}
          >
            Copy
          </button>
        </li>
      ))}
    </ul>
  )
}
