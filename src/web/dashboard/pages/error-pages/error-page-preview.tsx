import { useEffect, useRef, useState } from 'react'
import { escapeHtml } from '../../../../base/http/html.ts'
import './error-page-preview.css'

/** Waits until typing pauses. */
const RENDER_DELAY_MS = 300

/** What an error says in the preview; the server fills in the texts of the actual one. */
const EXAMPLE: Readonly<Record<string, string>> = {
  title: 'This site is offline',
  message: 'No backend of shop.example.com is online.',
  next_step: 'Wait a moment, then reload the page.',
  owner_step: 'Start the agent for this name, or create an edge for it.',
  code: 'ERR_ADIT_6528',
  host: 'shop.example.com',
}

/** Shows an error page as visitors see it, with the texts of an example. */
export function ErrorPagePreview({ html, status }: { html: string; status: string }) {
  const [shown, setShown] = useState(html)
  useEffect(() => {
    const timer = setTimeout(() => setShown(html), RENDER_DELAY_MS)
    return () => clearTimeout(timer)
  }, [html])
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    if (frame.current) showPage(frame.current, fillIn(shown, { ...EXAMPLE, status: exampleStatus(status) }))
  }, [shown, status])
  return (
    <figure className="error-page-preview">
      <figcaption>Preview with example texts</figcaption>
      {/* The parent applies the styles, so the frame has its origin; scripts and forms stay off. */}
      <iframe ref={frame} title="Preview of the error page" sandbox="allow-same-origin" inert />
    </figure>
  )
}

const exampleStatus = (status: string) =>
  /^[45][0-9]{2}$/.test(status) ? status : status === '4xx' ? '404' : '503'

function fillIn(html: string, values: Readonly<Record<string, string>>): string {
  return html.replace(/\{\{([a-z_]{1,32})\}\}/g, (placeholder, name: string) =>
    escapeHtml(values[name] ?? placeholder),
  )
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createHTML(html: string): string },
  ): { createHTML(html: string): string }
}

/** The one exception to the rule that no text becomes markup: pages for a sandboxed frame without scripts. */
const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy(
  'error-page-preview',
  { createHTML: (html) => html },
)

/**
 * Shows a page in the frame. The frame inherits the content security policy of the dashboard, which blocks inline styles,
 * so these are applied by script. The browser's console lists what it blocked.
 */
function showPage(frame: HTMLIFrameElement, html: string): void {
  frame.onload = () => {
    const view = frame.contentWindow as (Window & typeof globalThis) | null
    const page = frame.contentDocument
    if (!view || !page) return
    page.adoptedStyleSheets = [...page.querySelectorAll('style')].map(({ textContent, media }) => {
      const sheet = new view.CSSStyleSheet({ media })
      sheet.replaceSync(textContent ?? '')
      return sheet
    })
    for (const element of page.querySelectorAll<HTMLElement>('[style]'))
      element.style.cssText = element.getAttribute('style') ?? ''
  }
  frame.srcdoc = policy?.createHTML(html) ?? html
}
