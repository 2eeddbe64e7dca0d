import { parseHostPort } from '../../../base/values/hostport.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import { TARGET_CHARS } from '../../message/ascii.ts'
import { MAX_TARGET_BYTES } from '../../message/request-head.ts'
import { requirePath } from '../../target-path.ts'
import type { RequestExecution } from '../execution.ts'
import type { Implementation } from '../implement.ts'
import { rewriteUrl } from '../rewrite.ts'

export const urlRewrite: Implementation<'url-rewrite'> = {
  on_http_request({ from, to }) {
    return (execution) => {
      const { url, text, matches } = rewriteUrl(execution, { from, to })
      execution.results.url_rewrite = { url: text, matches }
      if (text !== url) applyUrl(execution, text)
      return undefined
    }
  },
}

const URL_PARTS = /^(?:https?:\/\/([^/?#]*))?([^#]*)/i

function applyUrl({ exchange, authority }: RequestExecution, url: string): void {
  const [, host, rest = ''] = URL_PARTS.exec(url) ?? []
  const target = encodeTarget(rest.startsWith('/') ? rest : `/${rest}`)
  if (target === undefined || target.length > MAX_TARGET_BYTES)
    throw new PolicyFailure('the rewritten URL is not valid')
  // What a pattern leaves of a path may begin with dot segments or a second slash.
  requirePath(target)
  if (host !== undefined && host !== authority) {
    if (parseHostPort(host) === undefined) throw new PolicyFailure('the rewritten URL has no valid host')
    exchange.authority = host
  }
  exchange.target = target
}

/** Blanks and text beyond ASCII are escaped; undefined when other characters cannot be in a target. */
function encodeTarget(text: string): string | undefined {
  const escaped = text.replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character))
  for (let index = 0; index < escaped.length; index++)
    if (TARGET_CHARS[escaped.charCodeAt(index)] !== 1) return undefined
  return escaped
}
