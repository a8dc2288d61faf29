// SPDX-License-Identifier: MIT
//! One model in tract: one thread, states fed back, times of the run alone.
//!
//!     tractbench MODEL [--shape IN=1,2,..] [--state IN:OUT] [--const IN=VALUE] [--seconds S]
//!     tractbench --rnnoise [--seconds S]        one frame of 10 ms at 48 kHz of nnnoiseless, whole pipeline
//!
//! Prints one line of JSON.
use std::collections::HashMap;
use std::time::Instant;
use tract_onnx::prelude::*;
use tract_onnx::tract_hir::infer::Factoid;

type Failure = Box<dyn std::error::Error>;

#[derive(Default)]
struct Options {
    model: String,
    shapes: HashMap<String, Vec<usize>>,
    states: Vec<(String, String)>,
    consts: HashMap<String, i64>,
    seconds: f64,
    rnnoise: bool,
}

fn options() -> Result<Options, Failure> {
    let mut o = Options { seconds: 1.0, ..Default::default() };
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{a} needs a value"));
        match a.as_str() {
            "--rnnoise" => o.rnnoise = true,
            "--seconds" => o.seconds = value()?.parse()?,
            "--shape" => {
                let v = value()?;
                let (name, dims) = v.split_once('=').ok_or("IN=1,2")?;
                o.shapes.insert(name.into(), dims.split(',').map(|d| d.parse()).collect::<Result<_, _>>()?);
            }
            "--state" => {
                let v = value()?;
                let (i, out) = v.split_once(':').ok_or("IN:OUT")?;
                o.states.push((i.into(), out.into()));
            }
            "--const" => {
                let v = value()?;
                let (name, number) = v.split_once('=').ok_or("IN=VALUE")?;
                o.consts.insert(name.into(), number.parse()?);
            }
            _ => o.model = a,
        }
    }
    Ok(o)
}

fn noise(seed: &mut u32) -> f32 {
    *seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
    (*seed as i32) as f32 / 2147483648.0 * 0.1
}

/// Runs `pulse` warm for so many seconds; it returns the microseconds of the run alone.
fn measure(seconds: f64, mut pulse: impl FnMut() -> Result<f64, Failure>) -> Result<(), Failure> {
    for _ in 0..20 {
        pulse()?;
    }
    let (begin, mut us) = (Instant::now(), vec![]);
    while us.len() < 30 || begin.elapsed().as_secs_f64() < seconds {
        us.push(pulse()?);
    }
    us.sort_by(|a, b| a.total_cmp(b));
    let at = |p: f64| us[(p * (us.len() - 1) as f64) as usize];
    println!("{{\"median_us\": {:.4}, \"p99_us\": {:.4}, \"runs\": {}}}", at(0.5), at(0.99), us.len());
    Ok(())
}

fn rnnoise(o: &Options) -> Result<(), Failure> {
    let mut state = nnnoiseless::DenoiseState::new();
    let (mut seed, mut out) = (1, vec![0f32; 480]);
    measure(o.seconds, || {
        let frame: Vec<f32> = (0..480).map(|_| noise(&mut seed) * 32768.0).collect();
        let begin = Instant::now();
        state.process_frame(&mut out, &frame);
        Ok(begin.elapsed().as_secs_f64() * 1e6)
    })
}

fn tensor(o: &Options, name: &str, fact: &TypedFact, seed: &mut u32) -> Result<Tensor, Failure> {
    let dims = fact.shape.as_concrete().ok_or("a shape is open")?.to_vec();
    if let Some(v) = o.consts.get(name) {
        return Ok(if fact.datum_type == i64::datum_type() { tensor0(*v) } else { tensor0(*v as f32) });
    }
    let state = o.states.iter().any(|(i, _)| i == name);
    let values: Vec<f32> = (0..dims.iter().product()).map(|_| if state { 0.0 } else { noise(seed) }).collect();
    Ok(Tensor::from_shape(&dims, &values)?)
}

fn net(o: &Options) -> Result<(), Failure> {
    let mut model = tract_onnx::onnx().model_for_path(&o.model)?;
    for at in 0..model.inputs.len() {
        let outlet = model.inputs[at];
        let name = model.node(outlet.node).name.clone();
        if let Some(dims) = o.shapes.get(&name) {
            let kind = model.input_fact(at)?.datum_type.concretize().unwrap_or(f32::datum_type());
            model.set_input_fact(at, kind.fact(dims.as_slice()).into())?;
        }
    }
    let outputs: Vec<String> = model.outputs.iter()
        .map(|out| model.outlet_label(*out).unwrap_or(&model.node(out.node).name).to_string()).collect();
    let model = model.into_optimized()?;
    let names: Vec<String> = model.inputs.iter().map(|i| model.node(i.node).name.clone()).collect();
    let mut seed = 1;
    let mut fed = vec![];
    for (at, name) in names.iter().enumerate() {
        fed.push(tensor(o, name, &model.input_fact(at)?.clone(), &mut seed)?.into_tvalue());
    }
    let mut back = vec![];
    for (i, out) in &o.states {
        let i = names.iter().position(|n| n == i).ok_or_else(|| format!("no input {i}"))?;
        back.push((i, outputs.iter().position(|n| n == out).ok_or_else(|| format!("no output {out}"))?));
    }
    let mut state = model.into_runnable()?.spawn()?;
    measure(o.seconds, || {
        let inputs: TVec<TValue> = fed.iter().cloned().collect();
        let begin = Instant::now();
        let mut given = state.run(inputs)?;
        let us = begin.elapsed().as_secs_f64() * 1e6;
        for (i, out) in &back {
            std::mem::swap(&mut fed[*i], &mut given[*out]);
        }
        Ok(us)
    })
}

fn main() -> Result<(), Failure> {
    let o = options()?;
    if o.rnnoise { rnnoise(&o) } else { net(&o) }
}
