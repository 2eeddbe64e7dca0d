import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import type { InlineConfig, Plugin } from 'vite'

/** How one of the page folders beside this file becomes static files in `outDir`, served below `base`. */
export function pageConfig(page: string, outDir: string, base: string, observer: Plugin): InlineConfig {
  return {
    configFile: false,
    root: join(import.meta.dirname, page),
    base,
    logLevel: 'warn',
    plugins: [react(), observer],
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      // The pages' Content-Security-Policy knows no data: addresses and no inline scripts.
      assetsInlineLimit: 0,
      // The modules of a page are asked for at once. Browsers without it load them one after the other.
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
  }
}
