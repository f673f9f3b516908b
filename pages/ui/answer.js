// Builds an answer from plain data. Every text goes in through textContent; nothing here parses HTML.

const element = (tag, className, text) => {
  const made = document.createElement(tag)
  if (className) made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

// A part is built anew only when its data changed: an open source stays open while the answer grows.
const part = (root, name, data, build) => {
  let holder = root.querySelector(`:scope > .${name}`)
  if (!holder) {
    holder = element("div", name)
    root.appendChild(holder)
  }
  const print = JSON.stringify(data)
  if (holder.dataset.print === print) return holder
  holder.dataset.print = print
  holder.replaceChildren()
  build(holder)
  return holder
}

const tip = (host, text) => {
  host.tabIndex = 0
  host.setAttribute("role", "note")
  host.setAttribute("aria-label", text)
  host.appendChild(element("span", "tip", text))
  host.onkeydown = event => { if (event.key === "Escape") host.blur() }
}

const writeSpans = (target, spans, data, openSource) => {
  for (const span of spans) {
    if (span.n !== undefined) {
      const marker = element("button", "marker", String(span.n))
      const source = data.sources.find(one => one.n === span.n)
      marker.type = "button"
      marker.setAttribute("aria-label", `${data.labels.note} ${span.n}: ${source ? source.title : ""} ${source ? source.place : ""}`)
      marker.title = source ? `${source.title} ${source.place}`.trim() : ""
      marker.onclick = () => openSource(span.n)
      target.appendChild(marker)
    } else if (span.w !== undefined) {
      const warning = element("span", `warning ${span.w}`, span.w === "weak" ? "?" : "⚠\uFE0E")
      tip(warning, data.why[span.w] || "")
      target.appendChild(warning)
    } else {
      let made = document.createTextNode(span.x)
      for (const [flag, tag] of [["c", "code"], ["i", "em"], ["b", "strong"]]) {
        if (span[flag]) {
          const wrap = document.createElement(tag)
          wrap.appendChild(made)
          made = wrap
        }
      }
      target.appendChild(made)
    }
  }
}

const writeBlock = (block, data, openSource) => {
  const spans = (tag, className) => {
    const made = element(tag, className)
    writeSpans(made, block.s || [], data, openSource)
    return made
  }
  if (block.t === "h") return spans("h4")
  if (block.t === "li") {
    const row = element("div", "item")
    row.style.marginLeft = `${1.2 * Math.min(block.d, 6)}em`
    row.setAttribute("role", "listitem")
    row.appendChild(element("span", "bullet", block.o === undefined ? "•" : `${block.o}.`))
    row.appendChild(spans("span"))
    return row
  }
  if (block.t === "code") {
    const holder = element("div")
    holder.appendChild(element("pre", "", block.x))
    if (block.s) holder.appendChild(spans("p"))
    return holder
  }
  if (block.t === "table") {
    const scroll = element("div", "scroll")
    const table = element("table")
    block.r.forEach((row, index) => {
      const line = element("tr")
      for (const cell of row) {
        const made = element(index ? "td" : "th")
        writeSpans(made, cell, data, openSource)
        line.appendChild(made)
      }
      table.appendChild(line)
    })
    scroll.appendChild(table)
    return scroll
  }
  return spans("p")
}

const writeSource = (source, data) => {
  const row = element("details", "source")
  row.dataset.n = source.n
  const summary = element("summary")
  if (source.numbered) summary.appendChild(element("span", "number", String(source.n)))
  summary.appendChild(element("span", "title", source.title))
  if (source.place) summary.appendChild(element("span", "place", source.place))
  if (source.gone) summary.appendChild(element("span", "gone", source.gone))
  if (source.heading) summary.appendChild(element("span", "heading", source.heading))
  row.appendChild(summary)
  const passage = element("blockquote", "passage")
  for (const [text, marks] of source.runs) {
    if (!marks) passage.appendChild(document.createTextNode(text))
    else passage.appendChild(element("mark", [...marks].map(mark => ({ b: "best", m: "word" })[mark]).join(" "), text))
  }
  row.appendChild(passage)
  const facts = element("div", "facts")
  for (const score of source.scores) facts.appendChild(element("span", "", score))
  if (source.words) facts.appendChild(element("span", "words", source.words))
  if (source.href) {
    const link = element("a", "", data.labels.download)
    link.href = source.href
    link.setAttribute("download", "")
    facts.appendChild(link)
  }
  row.appendChild(facts)
  return row
}

const writeSources = (holder, data) => {
  if (!data.sources.length) return
  const all = element("details", "all")
  all.open = !data.sources[0].numbered  // of a refusal they are all there is to see
  all.appendChild(element("summary", "line", data.sources_line))
  const list = element("div", "list")
  for (const source of data.sources) list.appendChild(writeSource(source, data))
  all.appendChild(list)
  holder.appendChild(all)
}

const writeFooter = (holder, data, act) => {
  const copy = async button => {
    try {
      await navigator.clipboard.writeText(data.plain)
    } catch {
      // Without clipboard permission (plain http on another host) the old way still works.
      const area = element("textarea", "", data.plain)
      document.body.appendChild(area)
      area.select()
      document.execCommand("copy")
      area.remove()
    }
    button.textContent = data.copied
    setTimeout(() => { button.textContent = data.copy }, 1500)
  }
  const button = (label, run) => {
    const made = element("button", "quiet", label)
    made.type = "button"
    made.onclick = () => run(made)
    holder.appendChild(made)
  }
  const [first, ...rest] = data.footer
  if (first) holder.appendChild(element("span", "", first))
  if (data.copy) button(data.copy, copy)
  if (data.again) button(data.again, () => act("again"))
  for (const text of rest) holder.appendChild(element("span", "", text))
}

// The last answer is what a person came for: shown when the chat opens, and followed while it grows, until they scroll up.
const follower = (root, data) => {
  const place = root.getRootNode().host || root
  const main = place.closest('[data-testid="stMain"]')
  if (!main || !data.last) return () => {}
  const isNew = root.dataset.message !== String(data.id)
  const atEnd = main.scrollHeight - main.scrollTop - main.clientHeight < 160
  const toEnd = () => { main.scrollTop = main.scrollHeight }
  if (!isNew) return atEnd && !data.ended ? () => requestAnimationFrame(toEnd) : () => {}
  return () => {
    // The messages above get their height one after the other.
    const timers = [0, 100, 300, 700].map(delay => setTimeout(toEnd, delay))
    const leave = () => timers.forEach(clearTimeout)
    for (const event of ["wheel", "touchstart", "keydown", "pointerdown"]) {
      main.addEventListener(event, leave, { once: true, passive: true })
    }
  }
}

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".answer")
  const follow = follower(root, data)
  const openSource = number => {
    const all = root.querySelector("details.all")
    const row = root.querySelector(`details.source[data-n="${Number(number)}"]`)
    if (!all || !row) return
    all.open = true
    for (const other of root.querySelectorAll("details.source")) other.open = other === row
    row.scrollIntoView({ block: "nearest", behavior: "smooth" })
    row.querySelector("summary").focus({ preventScroll: true })
  }
  root.dataset.message = data.id
  root.dataset.ended = data.ended
  part(root, "sources", [data.sources, data.sources_line], holder => writeSources(holder, data))
  part(root, "status", data.status, holder => {
    holder.setAttribute("role", "status")
    if (data.status) holder.appendChild(element("span", "working", data.status))
  })
  const text = part(root, "text", "", () => {})
  const before = [...text.children]
  data.blocks.forEach((block, index) => {
    const print = JSON.stringify(block)
    if (before[index] && before[index].dataset.print === print) return
    const made = writeBlock(block, data, openSource)
    made.dataset.print = print
    if (before[index]) before[index].replaceWith(made)
    else text.appendChild(made)
  })
  before.slice(data.blocks.length).forEach(old => old.remove())
  text.classList.toggle("writing", data.writing)
  part(root, "footer", [data.footer, data.copy, data.again, data.plain], holder =>
    writeFooter(holder, data, name => setTriggerValue("action", name)))
  if (data.refused) {
    // Nothing was found: that is said first, and what comes closest after it.
    const sources = root.querySelector(":scope > .sources")
    if (text.nextSibling !== sources) text.after(sources)
  }
  follow()
}
