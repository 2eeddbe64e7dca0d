/**
 * The inspector page of the agent: lists captured requests, shows one in detail, replays and compares them. It uses only
 * the local API of the agent (api.ts). Begin reading at app.tsx; capture-feed.ts keeps the list up to date, inspect-page.tsx
 * and status-page.tsx are the two pages.
 */
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyTheme } from '../shared/theme.ts'
import { App } from './app.tsx'
import '../shared/tokens.css'
import '../shared/base.css'
import '../shared/plot.css'
import './style.css'

applyTheme()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
