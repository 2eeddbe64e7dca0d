import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseUserAgent } from './user-agent.ts'

const CASES: Record<string, string> = {
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.1':
    'Edge 140.0.1, Windows 10.0, Desktop',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15':
    'Safari 18.1, macOS 10.15.7, Desktop',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0 Mobile/15E148 Safari/604.1':
    'Chrome 140.0, iOS 18.1, Mobile',
  'Mozilla/5.0 (Linux; Android 14; SM-X710) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36':
    'Chrome 140.0.0.0, Android 14, Tablet',
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0': 'Firefox 140.0, Linux , Desktop',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)': ' ,  , Bot',
  'curl/8.5.0': 'curl 8.5.0,  , Desktop',
  '': ' ,  , Desktop',
}

test('browser, operating system and device are read from what browsers send', () => {
  for (const [raw, expected] of Object.entries(CASES)) {
    const agent = parseUserAgent(raw)

    assert.equal(agent.raw, raw)
    assert.equal(
      `${agent.browser_name} ${agent.browser_version}, ${agent.os_name} ${agent.os_version}, ${agent.device_type}`,
      expected,
    )
  }
})
