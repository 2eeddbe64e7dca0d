import type { TestPlatform } from './platform.ts'

/** An HTTP client that follows redirects and stores cookies per host, as a browser does. */
export class CookieClient {
  readonly #platform: Pick<TestPlatform, 'fetch'>
  readonly #cookiesByHost = new Map<string, Map<string, string>>()

  constructor(platform: Pick<TestPlatform, 'fetch'>) {
    this.#platform = platform
  }

  cookies(host: string): string[] {
    return [...(this.#cookiesByHost.get(host) ?? [])].map(([name, value]) => `${name}=${value}`)
  }

  setCookie(host: string, name: string, value: string): void {
    this.#jarOf(host).set(name, value)
  }

  #jarOf(host: string): Map<string, string> {
    const jar = this.#cookiesByHost.get(host) ?? new Map<string, string>()
    this.#cookiesByHost.set(host, jar)
    return jar
  }

  /** One request, no redirect followed. */
  async once(url: string, init: { method?: string; body?: string; headers?: Record<string, string> } = {}) {
    const { host } = new URL(url)
    const response = await this.#platform.fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: this.cookies(host).join('; '), ...init.headers },
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';')
      const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
      if (attributes.some((attribute) => attribute.trim().toLowerCase() === 'max-age=0'))
        this.#jarOf(host).delete(name)
      else this.#jarOf(host).set(name, value)
    }
    return response
  }

  /** Follows redirects and returns the final response with all visited URLs. */
  async get(url: string): Promise<{ status: number; text: string; way: string[] }> {
    const urls = [url]
    for (;;) {
      const response = await this.once(urls.at(-1)!)
      const location = response.headers.get('location')
      if (location === null || urls.length > 20)
        return { status: response.status, text: await response.text(), way: urls }
      await response.text()
      urls.push(new URL(location, urls.at(-1)).href)
    }
  }
}
